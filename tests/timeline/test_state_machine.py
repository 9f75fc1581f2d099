"""Random walks along real recordings: wherever one comes from, a position has one state."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from walking import Memory, Walk

from rdb.recording import open_job
from rdb.recording.rank import RankRecording

# `make test-walk` walks farther, and elsewhere each time.
FACTOR = int(os.environ.get("RDB_TEST_WALK", "1"))
WALKS = 4 if FACTOR == 1 else 12 * FACTOR
STEPS = 120  # in one walk, at most
INDEX = st.integers(0, 1 << 20)


def walker(memory: Memory) -> type[RuleBasedStateMachine]:
    class Walking(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.walk = Walk(memory)

        def teardown(self) -> None:
            self.walk.close()

        @rule(forward=st.booleans(), count=st.integers(1, 30))
        def step(self, forward: bool, count: int) -> None:
            self.walk.step(forward, count)

        @rule(forward=st.booleans())
        def step_once(self, forward: bool) -> None:
            self.walk.step(forward, 1)

        @rule(forward=st.booleans(), index=INDEX)
        def step_a_thread(self, forward: bool, index: int) -> None:
            self.walk.step_any_thread(forward, index)

        @rule(forward=st.booleans())
        def cont(self, forward: bool) -> None:
            self.walk.cont(forward)

        @rule(count=st.integers(1, 12))
        def there_and_back(self, count: int) -> None:
            self.walk.there_and_back(count)

        @rule(index=INDEX)
        def seek_event(self, index: int) -> None:
            self.walk.seek_event(index)

        @rule(index=INDEX)
        def seek_name(self, index: int) -> None:
            self.walk.seek_name(index)

        @rule(end=st.booleans())
        def goto(self, end: bool) -> None:
            (self.walk.goto_end if end else self.walk.goto_start)()

        @rule(count=st.integers(1, 5))
        def undo(self, count: int) -> None:
            self.walk.undo(count)

        @rule(count=st.integers(1, 5))
        def redo(self, count: int) -> None:
            self.walk.redo(count)

        @rule(index=INDEX, steps=st.integers(0, 5))
        def branch(self, index: int, steps: int) -> None:
            self.walk.branch(index, steps)

        @rule(index=INDEX, forward=st.booleans())
        def break_and_go(self, index: int, forward: bool) -> None:
            self.walk.break_at(index)
            self.walk.cont(forward)

        @rule(index=INDEX, length=st.sampled_from((1, 4, 8, 100, 5000)), kind=st.integers(0, 2))
        def watch_and_go(self, index: int, length: int, kind: int) -> None:
            self.walk.watch(index, length, kind)
            self.walk.cont(bool(index & 1))

        @rule()
        def clear(self) -> None:
            self.walk.clear()

    return Walking


Build = Callable[..., Path]


@pytest.fixture
def record(build: Build, rdb_home: Path, tmp_path: Path) -> Callable[..., RankRecording]:
    def run(source: str, *flags: str) -> RankRecording:
        deadlines.native(
            [sys.executable, "-m", "rdb", "run", "--name", "it", "--", build(source, *flags)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )
        return open_job("it").rank(0)

    return run


@pytest.mark.parametrize("source", ["signals.c", "memory.c", "threads_steps.c", "threads_turns.c"])
def test_a_position_has_one_state(record: Callable[..., RankRecording], source: str) -> None:
    memory = Memory(record(source, "-O0", "-pthread"))
    chosen = settings(
        max_examples=WALKS,
        stateful_step_count=STEPS,
        derandomize=FACTOR == 1,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(walker(memory), settings=chosen)
    assert memory.moves >= WALKS * STEPS / 4  # Hypothesis may end a walk early
    assert memory.compared > memory.moves / 3
    positions = len(memory.states)
    print(
        f"{source}: {memory.moves} moves to {positions} positions, {memory.compared} not the first"
    )
