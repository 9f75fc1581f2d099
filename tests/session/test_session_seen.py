"""What a person sees at a terminal, where GDB pages its output and a log merges equal answers."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, GdbError, Recorded

ROUNDS = 40


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("seen")
    source = PROGRAMS / "many_rounds.c"
    made = Recorded(folder, build("many_rounds.c", "-O0"), source, str(ROUNDS))
    assert made.done.returncode == 0, made.done.stderr
    return made


def test_undo_after_a_stop_where_output_is_paged(gdb: Gdb) -> None:
    """GDB is without pagination while it tells of a stop, and pages again at the prompt."""
    gdb.run("set pagination on")
    gdb.run("set height 0")
    gdb.run("break visit")
    gdb.run("continue")
    first = gdb.state()
    for command in ("finish", "step", "next 2", "reverse-next"):
        gdb.run(command)
        moved = gdb.state()
        assert moved["position"] != first["position"]
        assert "again" not in gdb.run("undo")
        assert gdb.state()["position"] == first["position"], command
        gdb.run("redo")
        assert gdb.state()["position"] == moved["position"], command
        gdb.run("undo")
    assert "(changed)" not in gdb.run("history")


def test_events_that_the_log_has_merged_are_found_one_by_one(gdb: Gdb) -> None:
    assert gdb.run("find-event --count getppid") == f"{ROUNDS} events\n"
    events = []
    for _ in range(3):
        gdb.run("find-event getppid")
        events.append(gdb.state()["event"])
    assert events == [events[0] + more for more in range(3)]
    for event in (events[1], events[0]):
        gdb.run("find-event getppid --prev")
        assert gdb.state()["event"] == event
    with pytest.raises(GdbError, match="No event before"):
        gdb.run("find-event getppid --prev")
    gdb.run("goto END")
    gdb.run("find-event getppid --prev")
    assert gdb.state()["event"] == events[0] + ROUNDS - 1
