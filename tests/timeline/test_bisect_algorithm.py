"""The bisect search against brute force, on the fake replica."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from fake_replica import DATA, Answer, FakeReplica, Program, State, all_states
from hypothesis import given, settings
from hypothesis import strategies as st

from rdb.errors import RdbError
from rdb.server.bisecting import Bisecting
from rdb.timeline.asking import Probe, Verdict
from rdb.timeline.bisect import BadAtFirst, Bisect, Refused, Result, Unstable
from rdb.timeline.position import Position
from rdb.timeline.timeline import Timeline

GOOD, BAD, UNDEFINED = 1, 2, 3
VERDICTS: dict[int, Verdict] = {GOOD: "good", BAD: "bad", UNDEFINED: "undefined"}
CELL = 16  # memory[16] says what the verdict is


def program_of(phases: list[tuple[int, int]]) -> Program:
    """Each phase: a loop of so many rounds, the cell is set, an event."""
    code: list[tuple[str, int, int]] = []
    for value, rounds in phases:
        code.append(("seti", 0, rounds))
        code.append(("addi", 1, 1))
        code.append(("addi", 2, 3))
        code.append(("decjnz", 0, 0x400000 + 16 * (len(code) - 2)))
        code.append(("seti", CELL, value))
        code.append(("addi", 3, 1))
        code.append(("sys", 0, 0))
    code.append(("sys", 0, 0))
    return Program(code, [Answer(0) for _ in phases])


def search(
    timeline: Timeline, last: bool = False, limit: int = 2000, alive: Sequence[int] = ()
) -> tuple[Result, list[Probe]]:
    try:
        return ended(timeline, Bisect(timeline, last=last, alive=alive), limit)
    except BadAtFirst as bad:
        if bad.edge is None:
            raise
        low, high = bad.edge
        return ended(timeline, Bisect(timeline, last, low, high, alive=alive), limit)


def ended(timeline: Timeline, bisect: Bisect, limit: int) -> tuple[Result, list[Probe]]:
    asked: list[Probe] = []
    ask = bisect.start()
    while isinstance(ask, Probe):
        asked.append(ask)
        assert len(asked) < limit
        ask = bisect.answer(verdict(timeline, ask.position))
    return ask, asked


def verdict(timeline: Timeline, position: Position) -> Verdict:
    timeline.seek(position)
    return VERDICTS.get(timeline.read_memory(DATA + CELL, 1)[0], "undefined")


def index_of(timeline: Timeline, position: Position, states: list[State]) -> int:
    timeline.seek(position)
    name = timeline.name()
    seen: dict[tuple[int, int], int] = {}
    for index, state in enumerate(states):
        key = (state.event, state.pc)
        seen[key] = seen.get(key, 0) + 1
        answer = index == 0 or states[index - 1].event != state.event
        n = seen[key]
        this = Position(state.event) if answer else Position.at(state.event, state.pc, n)
        if this == name:
            return index
    raise AssertionError(f"{name} is nowhere")


def cell(state: State) -> int:
    return state.memory[CELL]


def check_edge(program: Program, last: bool = False) -> tuple[Result, int]:
    states = all_states(program)
    with Timeline(None, FakeReplica.start(program)) as timeline:
        result, asked = search(timeline, last)
        before = index_of(timeline, result.before, states)
        after = index_of(timeline, result.after, states)
        assert cell(states[before]) == GOOD and cell(states[after]) == BAD
        assert result.looked.probes == len(asked)
        assert [one.stage for one in asked[-2:]] == ["verify", "verify"]
        assert all(0 <= one.done <= 1 for one in asked)
        if result.gap:
            assert after > before + 1
        else:
            assert after == before + 1
        return result, before


def test_one_edge_is_found_to_the_instruction() -> None:
    phases = [(GOOD, 9)] * 40 + [(BAD, 9)] * 30
    result, _ = check_edge(program_of(phases))
    assert result.event == 40 and not result.gap


def test_the_edge_may_come_after_the_last_event() -> None:
    program = program_of([(GOOD, 9)] * 5)
    program.code[-1:] = [("addi", 1, 1), ("seti", CELL, BAD), ("sys", 0, 0), ("sys", 0, 0)]
    program.log.append(Answer(0))
    assert check_edge(program)[0].event == 5


def test_a_change_by_an_event() -> None:
    log = [Answer(0, [(CELL, bytes([GOOD if i < 17 else BAD]))]) for i in range(29)]
    program = Program([("sys", 0, 0)] * 30, log)
    result, before = check_edge(program)
    assert before == 17 and result.after == Position(18)


def test_first_and_last_of_two_edges() -> None:
    phases = [(GOOD, 5)] * 20 + [(BAD, 5)] * 20 + [(GOOD, 5)] * 20 + [(BAD, 5)] * 20
    assert check_edge(program_of(phases))[0].event == 20
    assert check_edge(program_of(phases), last=True)[0].event == 60


@pytest.mark.parametrize("first", [GOOD, BAD, UNDEFINED])
@pytest.mark.parametrize("end", [GOOD, BAD, UNDEFINED])
def test_it_may_be_bad_at_first_and_good_at_the_end(first: int, end: int) -> None:
    middle = [(BAD, 5)] * 9 + [(GOOD, 5)] * 20 + [(BAD, 5)] * 20 + [(GOOD, 5)] * 20
    program = program_of([(first, 5)] * 20 + middle + [(BAD, 5)] * 5 + [(end, 5)] * 9)
    result, _ = check_edge(program)
    assert result.event == (20 if first == GOOD else 49)
    result, _ = check_edge(program, last=True)
    assert result.event == 89
    assert (result.again is None) == (end != GOOD)


def test_a_long_interval_is_halved_by_arrivals() -> None:
    code: list[tuple[str, int, int]] = [("sys", 0, 0), ("seti", CELL, GOOD), ("sys", 0, 0)]
    top = 0x400000 + 16 * (len(code) + 1)
    code += [("seti", 0, 200), ("seti", 1, 30), ("addi", 1, 1), ("decjnz", 1, top + 16)]
    code += [("decjnz", 0, top), ("seti", CELL, BAD), ("seti", 0, 200), ("addi", 2, 1)]
    code += [("decjnz", 0, 0x400000 + 16 * (len(code) - 1)), ("sys", 0, 0), ("sys", 0, 0)]
    program = Program(code, [Answer(0), Answer(0), Answer(0)])
    assert len(all_states(program)) > 10_000
    result, _ = check_edge(program)
    assert result.event == 2
    assert result.looked.probes < 60


def test_arrivals_that_are_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted comes once a round, and a round is longer than what is stepped at a time."""
    for later in (UNDEFINED, 4):
        monkeypatch.setitem(VERDICTS, later, "bad")
    code: list[tuple[str, int, int]] = [("sys", 0, 0), ("seti", CELL, GOOD), ("sys", 0, 0)]
    code += [("seti", 2, 4)]
    top = 0x400000 + 16 * len(code)
    code += [("addi", 0, 1), ("addi", 1, 1), ("addi", 2, 1), ("seti", 0, 40)]
    code += [("seti", 1, 40), ("addi", 0, 1), ("decjnz", 1, top + 16 * 5), ("decjnz", 0, top + 64)]
    code += [("addi", 3, 1), ("store", CELL, 3), ("decjnz", 2, top), ("sys", 0, 0), ("sys", 0, 0)]
    result, _ = check_edge(Program(code, [Answer(0), Answer(0), Answer(0)]))
    assert result.event == 2 and not result.gap


def test_undefined_in_between_is_said() -> None:
    phases = [(GOOD, 5)] * 30 + [(UNDEFINED, 5)] * 25 + [(BAD, 5)] * 30
    result, _ = check_edge(program_of(phases))
    assert result.gap and result.looked.undefined > 0


def test_bad_for_a_while_before_it_has_no_value_any_more() -> None:
    """No event that is looked at first is bad: the search for the last good one meets it."""
    phases = [(GOOD, 1)] * 207 + [(UNDEFINED, 1)] * 3 + [(BAD, 1)] * 5
    result, _ = check_edge(program_of([*phases, *[(UNDEFINED, 1)] * 200]))
    assert result.gap


def test_undefined_here_and_there_does_not_matter() -> None:
    phases = [(UNDEFINED if i % 3 == 1 else GOOD if i < 31 else BAD, 5) for i in range(70)]
    result, _ = check_edge(program_of(phases))
    assert result.event in (30, 31)


@pytest.mark.parametrize(
    ("phases", "reason"),
    [
        ([(GOOD, 3)] * 5, "true at the end"),
        ([(BAD, 3)] * 5, "false at the start|false where it first has a value"),
        ([(BAD, 9), (GOOD, 9)], r"; true at event \d+$"),
        ([(UNDEFINED, 3)] * 50, "undefined"),
    ],
)
def test_refused_with_the_reason(phases: list[tuple[int, int]], reason: str) -> None:
    with (
        Timeline(None, FakeReplica.start(program_of(phases))) as timeline,
        pytest.raises(Refused, match=reason),
    ):
        search(timeline)


def test_what_has_no_value_says_so_early_and_is_looked_for_between_samples() -> None:
    program = program_of([(UNDEFINED, 1)] * 1200)
    told: list[tuple[int, str]] = []
    with Timeline(None, FakeReplica.start(program)) as timeline:
        bisect = Bisect(timeline)
        ask = bisect.start()
        done = [0.0]
        with pytest.raises(Refused, match=r"undefined at all 513 events .*: nothing there"):
            while isinstance(ask, Probe):
                told.append((ask.position.event, bisect.so_far))
                done.append(ask.done)
                ask = bisect.answer("undefined", "nothing there")
    events = [event for event, _ in told]
    assert len(events) == len(set(events)) == 513
    assert {said for _, said in told[:33]} == {""}
    assert told[33][1] == "no value at 33 events so far: nothing there"
    assert done == sorted(done)


def test_an_answer_that_changes_is_not_trusted() -> None:
    program = program_of([(GOOD, 3)] * 10 + [(BAD, 3)] * 10)
    with Timeline(None, FakeReplica.start(program)) as timeline:
        bisect = Bisect(timeline)
        ask = bisect.start()
        with pytest.raises(Unstable):
            while isinstance(ask, Probe):
                say = verdict(timeline, ask.position)
                ask = bisect.answer("undefined" if ask.stage == "verify" else say)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from([GOOD, GOOD, BAD, BAD, UNDEFINED]), st.integers(1, 30)),
        min_size=1,
        max_size=80,
    ),
    st.booleans(),
)
def test_what_is_found_is_always_an_edge(phases: list[tuple[int, int]], last: bool) -> None:
    check_edge(program_of([(GOOD, 1), *phases, (BAD, 1)]), last)


def test_what_has_a_value_first_between_two_samples() -> None:
    """Undefined, then good for less than a sample's distance, then bad to the end."""
    phases = [(UNDEFINED, 1)] * 300 + [(GOOD, 1)] * 20 + [(BAD, 1)] * 1000
    result, _ = check_edge(program_of(phases))
    assert not result.gap
    never_good = program_of([(UNDEFINED, 1)] * 9 + [(BAD, 1)])
    with (
        Timeline(None, FakeReplica.start(never_good)) as timeline,
        pytest.raises(Refused, match="false where it first has a value"),
    ):
        search(timeline)


@pytest.mark.parametrize("good", [True, False])
def test_the_interval_of_the_first_value_is_searched(good: bool) -> None:
    """Undefined at the event before it, bad at the one after it; good in between, or never."""
    program = program_of([(UNDEFINED, 3)] * 9 + [(BAD, 9)] * 5)
    if good:
        program.code[9 * 7 + 2] = ("seti", CELL, GOOD)  # in the loop of the first that is bad
    states = all_states(program)
    with Timeline(None, FakeReplica.start(program)) as timeline:
        bisect = Bisect(timeline)
        ask = bisect.start()
        try:
            while isinstance(ask, Probe):
                ask = bisect.answer(verdict(timeline, ask.position))
            found = ask.before, ask.after
        except BadAtFirst as bad:
            assert not good and bad.before is not None and bad.first is not None
            found = bad.before, bad.first
        before, after = (index_of(timeline, one, states) for one in found)
        assert after == before + 1
        assert cell(states[before]) == (GOOD if good else UNDEFINED)
        assert cell(states[after]) == BAD


Phases = list[tuple[int, int, bool, bool]]


def between_events(phases: Phases) -> tuple[Program, list[int]]:
    """Each phase: the cell is set and, a loop later, it has no value any more, or stays as it is;
    perhaps an event.  Also the last instructions of the parts in which it keeps its value."""
    code: list[tuple[str, int, int]] = []
    exits: list[int] = []
    for value, rounds, stays, event in phases:
        exits.append(0x400000 + 16 * len(code))
        code += [("seti", CELL, value), ("seti", 0, rounds), ("addi", 1, 1)]
        code.append(("decjnz", 0, 0x400000 + 16 * (len(code) - 1)))
        if not stays:
            exits.append(0x400000 + 16 * len(code))
            code.append(("seti", CELL, UNDEFINED))
        code += [("addi", 2, 3)] + [("sys", 0, 0)] * event
    code.append(("sys", 0, 0))
    return Program(code, [Answer(0) for phase in phases if phase[3]]), exits


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([GOOD, BAD, UNDEFINED]), st.integers(1, 5), st.booleans(), st.booleans()
        ),
        min_size=1,
        max_size=28,
    ),
    st.booleans(),
)
def test_what_has_a_value_between_events_only(phases: Phases, last: bool) -> None:
    """Each event is looked at, so the first, or last, edge is found between the first, or last, two
    events between which it turned."""
    program, exits = between_events([(GOOD, 1, False, True), *phases, (BAD, 1, False, True)])
    states = all_states(program)
    at = [cell(state) for state in states]
    defined = [index for index, value in enumerate(at) if value in (GOOD, BAD)]
    edges = [(low, high) for low, high in pairwise(defined) if (at[low], at[high]) == (GOOD, BAD)]
    events = [one for one in range(1, len(at)) if states[one].event > states[one - 1].event]
    known = [max(one for one in defined if one <= event) for event in events]
    turns = [(low, high) for low, high in pairwise(known) if (at[low], at[high]) == (GOOD, BAD)]
    low, high = turns[-1 if last else 0]
    edges = [edge for edge in edges if low <= edge[0] and edge[1] <= high]
    with Timeline(None, FakeReplica.start(program)) as timeline:
        result, _ = search(timeline, last, alive=exits)
        before = index_of(timeline, result.before, states)
        after = index_of(timeline, result.after, states)
        assert (before, after) == edges[-1 if last else 0]
        assert result.gap == (after > before + 1)


def test_a_request_that_failed_is_not_a_missing_value() -> None:
    """Else the rank would be left out as one that has no such statement."""
    with Timeline(None, FakeReplica.start(program_of([(GOOD, 3)] * 10))) as timeline:
        motion: Any = SimpleNamespace(timeline=timeline, trouble=None)
        motion.seek = lambda text: timeline.seek(Position.parse(text))
        search = Bisecting(motion, False, None, None)
        search.begin()
        assert "ask" in search.answer("undefined:not there")
        motion.trouble = RdbError("the replica has ended")
        assert "ask" in search.answer("good")
        motion.trouble = RdbError("the replica has ended")
        with pytest.raises(RdbError, match="cannot go on: the replica has ended"):
            search.answer("undefined:cannot be read")
