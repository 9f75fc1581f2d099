"""What goes round and round in a log: the writer of rdb-exec against both readers, every period."""

from __future__ import annotations

import bisect
import itertools
import os
import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import SAMPLE

from rdb.errors import VersionMismatch
from rdb.recording import Kind
from rdb.recording.log import library
from rdb.recording.log.index import LogIndex
from rdb.recording.log.threads import Schedule, read_schedule
from rdb.recording.mpi.communication import RankCommunication

ROOT = Path(__file__).parents[2]
SOURCES = (
    *("log_writer", "log_shorten", "log_cycle", "pieces", "stamp"),
    *("log_reader", "log_index", "log_segments"),
)
LONGEST = 12  # the writer counts rounds of up to 8 (LOG_PERIOD_MAX)
HEADER, SHORT, CYCLE = 32, 1, 2  # log_format.h

CHECKED = {**os.environ, "ASAN_OPTIONS": "detect_stack_use_after_return=0"}
Play = Callable[..., Path]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rounds") / "rounds"
    flags = ["-std=gnu17", "-g", "-O1", "-D_GNU_SOURCE", "-msse4.2", "-mfsgsbase"]
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = [ROOT / "interposer/log" / f"{name}.c" for name in SOURCES]
    command = ["gcc", *flags, *checks, "-I", ROOT / "interposer", ROOT / "tests/log/log_rounds.c"]
    subprocess.run([*command, *sources, "-o", made], check=True)
    return made


@pytest.fixture
def play(driver: Path, tmp_path: Path) -> Play:
    """Plays scripts (log_rounds.c); the log of the last one is in the folder that is given."""

    def run(*scripts: str, each: bool = True) -> Path:
        done = deadlines.run(
            [driver, tmp_path, *(["each"] if each else [])],
            600,
            input="".join(f"{script}\n" for script in scripts),
            env=CHECKED,
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == len(scripts)
        assert [line for line in lines if not line.startswith("ok ")] == []
        return tmp_path

    return run


def turns_of_threads(play: Play, script: str) -> tuple[list[int], Schedule]:
    """The threads of all events of a script, and the schedule that is read from its log."""
    thread, threads = 1, [1]  # of event 0 there is no record
    for one in script:
        if one.isdigit():
            thread = int(one)
        else:
            threads.append(thread)
    return threads, read_schedule(LogIndex(play(script, each=False)))


def test_calls_that_take_turns_are_counted_whatever_their_arguments(
    driver: Path, tmp_path: Path
) -> None:
    """Also those whose models have the same place in the writer's table."""
    for several in (2,) if SAMPLE else (2, 3):
        scripts = [
            40 * "".join(one)
            for one in itertools.combinations("abcdefghijklmnopqrstuvwxy", several)
        ]
        done = deadlines.run([driver, tmp_path], 600, input="\n".join(scripts) + "\n", env=CHECKED)
        assert done.returncode == 0, done.stderr
        sizes = {line.split()[2] for line in done.stdout.splitlines()}
        assert len(done.stdout.splitlines()) == len(scripts) and len(sizes) == 1, sizes


@pytest.mark.parametrize("threads", ["12", "112", "1232", "1122", "12345678"])
@pytest.mark.parametrize("turns", [*range(20), 50, 200, 601])
def test_threads_that_call_in_turn(play: Play, threads: str, turns: int) -> None:
    """One entry, however long it is; every lookup answers as of a schedule written out."""
    word = "".join(f"{one}{'abcdefgh'[i]}" for i, one in enumerate(threads))
    row = (word * (turns + 1))[: 2 * turns]
    script = f"1A{row}1BC" if turns % 2 else f"1A{row}3C"
    said, schedule = turns_of_threads(play, script)
    assert len(schedule._starts) < 150  # until it is seen that they go round
    expect_lookups(said, schedule)


def expect_lookups(said: list[int], schedule: Schedule) -> None:
    events = range(1, len(said))
    assert [schedule.runner(event) for event in events] == said[1:]
    assert schedule.runner(len(said) + 5) == said[-1]
    assert schedule.threaded is (len({one for one in said[1:] if one > 0}) > 1)
    for thread in range(1, 9):
        runs = [event for event in events if said[event] == thread]
        for event in events:
            at = bisect.bisect_left(runs, event)
            after = runs[at] if at < len(runs) else None
            before = event if after == event else runs[at - 1] if at else None
            assert schedule.last_run(thread, event) == before, (thread, event)
            assert schedule.next_run(thread, event) == after, (thread, event)


@pytest.mark.parametrize("seed", range(50))
def test_any_turns_of_any_threads(seed: int) -> None:
    chance = random.Random(seed)
    said, schedule = [0], Schedule(())
    for _ in range(chance.randrange(1, 8)):
        turns = tuple(chance.randrange(-1, 5) for _ in range(chance.randrange(1, 6)))
        count = chance.randrange(1, 15)
        schedule.add(len(said), count, turns)
        said += [turns[at % len(turns)] for at in range(count)]
    events = range(1, len(said))
    assert [schedule.preempted(event) for event in events] == [one == 0 for one in said[1:]]
    assert [schedule.idle(event) for event in events] == [one < 1 for one in said[1:]]
    assert schedule.plain is (len(set(said[1:])) == 1)
    expect_lookups(said, schedule)


def rounds(period: int, turns: int) -> str:
    word = "".join(chr(ord("a") + i) for i in range(period))
    return (word * (turns // period + 1))[:turns]


def calls(script: str) -> list[int]:
    return [ord(one.lower()) for one in script if one not in "#|.<"]


def expect_in_python(folder: Path, script: str) -> None:
    index = LogIndex(folder)
    assert index.damage is None
    each = [
        (r.event + k, r.args[0], struct.unpack("<Q", r.chunks[0].data)[0])
        for r in index.records()
        if r.kind is Kind.HYPERCALL
        for k in range(1 + r.repeat)
    ]
    assert [argument for _, argument, _ in each] == calls(script)
    assert [event for event, _, _ in each] == list(range(1, len(each) + 1))
    answers = [answer for _, _, answer in each]
    others = iter(range(min([one for one in answers if one > 7], default=0), 1 << 64))
    called = [one for one in script if one not in "#|.<"]
    assert answers == [next(others) if one.isupper() else 7 for one in called]


@pytest.mark.parametrize("period", range(1, LONGEST + 1))
def test_every_period_at_every_number_of_turns(play: Play, period: int) -> None:
    script = rounds(period, 6 * period + 3)
    expect_in_python(play(script), script)
    script = f"AB{script}C{script}#{script}|{script}.{script}"
    expect_in_python(play(script), script)


@pytest.mark.parametrize("seed", range(8))
def test_rounds_among_all_else(play: Play, seed: int) -> None:
    """Rounds of any length, cut short anywhere, one after another, and what ends them."""
    chance = random.Random(seed)
    scripts = []
    for _ in range(12):
        parts = []
        while len("".join(parts)) < 150:
            word = "".join(chance.choices("abcdefghAz*", k=chance.randint(1, LONGEST)))
            parts.append((word * 8)[: chance.randint(1, 60)])
            parts.append(chance.choice(["", "", "Q", "#", "|", ".", "z"]))
        scripts.append("".join(parts))
    play(*scripts)


@pytest.mark.parametrize("period", range(1, LONGEST + 1))
def test_a_segment_ends_within_rounds(play: Play, period: int) -> None:
    """At every place of them."""
    play(*(f"<{'A' * lead}{rounds(period, 5 * period + 30)}" for lead in range(12)), each=False)


@pytest.mark.parametrize("first", ["the same answer", "another answer"])
def test_rounds_are_counted(play: Play, first: str) -> None:
    for period in range(1, 9):
        word = rounds(period, period)
        sizes = [
            sum(records(path.read_bytes())[-1][1] for path in play(script, each=False).iterdir())
            for turns in (20, 2000)
            for script in [(word if first == "the same answer" else word.upper()) + word * turns]
        ]
        assert sizes[0] == sizes[1], period


@pytest.mark.parametrize("period", range(2, 9))
def test_billions_of_turns(play: Play, period: int) -> None:
    """The index has them in one entry, and answers as if it had read each."""
    lead = rounds(period, 6 * period)
    folder = play(f"{lead}>{rounds(period, 3 * period)}", each=False)
    index = LogIndex(folder)
    assert index.damage is None and index.count > 1 << 32
    assert len(bytes(index._view)) < 100 * 64
    last = index.brief(index.count - 1)[1]
    assert last == index.count
    own = [(index.number(place), index.record(place).args[0]) for place in range(len(lead))]
    assert [one for _, one in own] == [ord(one.lower()) for one in lead]
    chance = random.Random(period)
    some = {chance.randrange(1, index.count) for _ in range(200)}
    for place in some | set(range(index.count - 20, index.count)):
        event = place + 1
        assert index.event_place(event) == place == index.first_at(event)
        record = index.record(place)
        assert (record.event, record.repeat) == (event, 0)
        assert record.args[0] == ord("a") + (event - 1) % period
    middle = (1 << 31) + 5
    row = [one.event for one in index.records(middle, middle + 20)]
    assert row == list(range(middle + 1, middle + 21))
    calls = index.of_hypercalls(frozenset({index.number(0)}))
    assert calls[len(calls) - 1] == index.count - 1 and calls[middle] == middle
    assert sum(more + 1 for _, _, more in index.event_times()) == index.count
    assert len(list(index.switches())) < 100
    assert RankCommunication(folder).count == 0
    cycles = index.cycles_among(range(len(index._events)))
    assert {index.period_of(one) for one in cycles} == {period}
    spans = [index.events_of(one) for one in cycles]
    assert sum(first <= middle < first + count for first, count in spans) == 1


def test_some_of_the_calls_of_a_cycle(play: Play) -> None:
    """In their order."""
    script = ("abcd" * 9) + "z" + ("bd" * 7) + "a" + ("*abz" * 3)
    index = LogIndex(play(script))
    by_hand = [place for place in range(index.count) if index.number(place) == index.number(0)]
    found = index.of_hypercalls(frozenset({index.number(0)}))
    assert list(found) == by_hand == [found[at] for at in range(len(found))]
    assert len(found) == len(by_hand) and found[-1] == by_hand[-1]


def of_one_call(index: LogIndex) -> tuple[list[int], list[int]]:
    """Where the call of the first record is: found by the index, and looked at one by one."""
    places = range(index.count)
    by_hand = [place for place in places if index.number(place) == index.number(0)]
    return list(index.of_hypercalls(frozenset({index.number(0)}))), by_hand


@pytest.mark.parametrize("period", range(1, LONGEST + 1))
def test_calls_are_found_at_every_number_of_turns(play: Play, period: int) -> None:
    """Cycles of a single turn, too: there are as many entries as records then."""
    for turns in range(2 * period - 1, 3 * period + 2):
        part = rounds(period, turns)
        found, by_hand = of_one_call(LogIndex(play(f"{part}z{part}*{part}", each=False)))
        assert found == by_hand and len(found) >= 3, turns


def test_calls_are_found_while_the_log_grows(play: Play) -> None:
    script = rounds(3, 9) + "z" + rounds(2, 12) + "*" + rounds(4, 13)
    parts = [script[:length] for length in range(1, len(script) + 1)]
    index = LogIndex(play(parts[0]))
    for part in parts[1:]:
        play(part)
        assert index.grown() and index.more(), part
        assert index.count == len(part)
        found, by_hand = of_one_call(index)
        assert found == by_hand, part


def records(log: bytes) -> list[tuple[int, int]]:
    """Where each begins and ends."""
    at, found = HEADER, []
    while at + 8 <= len(log) and (size := struct.unpack_from("<I", log, at)[0]):
        end = at + (24 if size & CYCLE else size & ~(SHORT | CYCLE))
        found.append((at, end))
        at = end
    return found


def events(folder: Path) -> list[tuple[int, int, int]]:
    index = LogIndex(folder)
    assert index.damage is None
    return [(r.event, r.repeat, r.args[0]) for r in index.records()]


@pytest.mark.parametrize("period", range(1, LONGEST + 1))
def test_killed_anywhere(play: Play, period: int) -> None:
    """Of the record that was being written a part is there, but not its length: no damage."""
    script = f"A{rounds(period, 4 * period)}z{rounds(period, 3 * period)}"
    folder = play(script, each=False)
    (segment,) = folder.glob("log-*.seg")
    log = segment.read_bytes()

    def left(part: bytes) -> list[tuple[int, int, int]]:
        segment.write_bytes(part + bytes(len(log) - len(part)))
        return events(folder)

    whole = events(folder)
    for at, end in records(log):
        before = left(log[:at])
        assert before[:-1] == whole[: len(before)][:-1]
        for part in range(at + 8, end + 8, 8):
            assert left(log[:at] + bytes(8) + log[at + 8 : part]) == before, (at, part)
    assert left(log) == whole


def test_a_library_of_other_sources_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It and this Python have to agree on where the fields of an entry are."""
    fields = library.ENTRY_FIELDS
    other = (*fields[:5], fields[6], fields[5], *fields[7:])
    monkeypatch.setattr(library, "ENTRY_FIELDS", other)
    with pytest.raises(VersionMismatch, match="built from other sources than this rdb"):
        library.log_library.__wrapped__()


def test_what_is_declared_is_what_was_compiled() -> None:
    ffi, built = library.log_library()
    declared = [
        (structure, name, field.offset, ffi.sizeof(field.type))
        for structure in ("log_entry", "log_place")
        for name, field in ffi.typeof(f"struct {structure}").fields
    ]
    assert declared == library.fields_of(ffi, built)
