"""All orders in which a process maps a file and another opens it and writes (rank_files.h)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest


@dataclass(frozen=True)
class State:
    """One reader and one writer of a file."""

    reader: str = "starts"
    writer: str = "closed"
    stores: int = 2
    events: int = 2  # how often the reader asks for something, or waits in the kernel
    openings: int = 0
    mapped: bool = False
    noticed: int = 0  # how often a mapped file was opened for writing
    slot: bool = False  # the reader is one of those that are asked
    asked: int = 0
    seen: int = 0
    signal: bool = False  # sent, and not handled yet
    knows: int = 0  # openings before the file was mapped
    looked: int = 0  # at `noticed`
    follows: bool = False
    floor: str = ""


def reader_steps(now: State, hasty: bool) -> Iterator[State]:
    """HASTY: a reader counts the openings before it says that it has the file mapped."""

    def to(at: str, **changes: object) -> State:
        return replace(now, reader=at, **changes)

    match now.reader:
        case "starts":
            yield to("registered", slot=True, seen=now.asked, knows=now.openings)
        case "registered":
            yield to("mapped", mapped=True)
        case "mapped":
            yield to("counted", knows=now.knows if hasty else now.openings)
        case "counted":  # looks for processes that have it open
            if now.knows and now.writer != "closed":
                yield to("takes", follows=True, slot=False)
            else:
                yield to("ends event")
        case "ends event":
            if now.noticed == now.looked:
                yield to("leaves")
            elif now.openings > now.knows:
                yield to("saw", looked=now.noticed, follows=True, knows=now.openings)
            else:
                yield to("saw", looked=now.noticed)
        case "saw":
            yield to("takes" if now.follows else "leaves", seen=now.asked, slot=not now.follows)
        case "takes":
            if now.floor != "writer":
                yield to("leaves", floor="reader")
        case "leaves":
            yield to("runs")
        case "runs" if now.signal:  # the handler, before the next instruction of the program
            yield to("ends event", signal=False)
        case "runs":
            if now.follows and now.writer == "takes":  # the envoy gives way
                yield to("takes", floor="")
            if now.events:
                yield to("ends event", events=now.events - 1)
                yield to("waits", events=now.events - 1, floor="")
        case "waits":
            if now.signal:
                yield to("waits", signal=False, seen=now.asked)
            yield to("takes" if now.follows else "ends event")


def writer_steps(now: State) -> Iterator[State]:
    def to(at: str, **changes: object) -> State:
        return replace(now, writer=at, **changes)

    match now.writer:
        case "closed":
            yield to("open")
        case "open":
            yield to("counted", openings=now.openings + 1)
        case "counted":
            yield to("asks", noticed=now.noticed + 1) if now.mapped else to("open for stores")
        case "asks" if now.slot:
            yield to("awaits", asked=now.asked + 1, signal=True)
        case "asks":
            yield to("open for stores")
        case "awaits":
            yield to("open for stores")  # the reader has seen it, or is given up
        case "open for stores" if now.stores:
            # A look and its store are one step: no call is on its way when the file is mapped.
            yield to("takes") if now.mapped else to("open for stores", stores=now.stores - 1)
        case "takes":
            if not now.floor:
                yield to("stores", floor="writer")
        case "stores":
            yield to("open for stores", stores=now.stores - 1, floor="")


def awaits_in_vain(now: State) -> bool:
    return now.writer == "awaits" and now.slot and now.seen < now.asked


def unseen(before: State, after: State) -> bool:
    """A store between two events of the reader: it runs, and no handler comes first."""
    return after.stores < before.stores and before.reader == "runs" and not before.signal


def explore(hasty: bool, patient: bool) -> tuple[int, list[State]]:
    """Number of states, and those from which a store is not seen.

    PATIENT: the writer waits without bound.
    """
    wrong, found, due = [], {State()}, [State()]
    while due:
        now = due.pop()
        steps = [*reader_steps(now, hasty)]
        if not (patient and awaits_in_vain(now)):
            for after in writer_steps(now):
                if unseen(now, after):
                    wrong.append(now)
                steps.append(after)
        # the reader may run for ever; the writer must come to its end
        assert steps or (now.reader, now.stores) == ("runs", 0), now
        new = set(steps) - found
        found |= new
        due += new
    return len(found), wrong


@pytest.mark.parametrize("patient", [True, False])
def test_no_store_comes_between_two_events(patient: bool) -> None:
    states, wrong = explore(hasty=False, patient=patient)
    assert states > 300
    assert not wrong, wrong[0]


def test_the_exploration_finds_a_wrong_order() -> None:
    assert explore(hasty=True, patient=True)[1]
