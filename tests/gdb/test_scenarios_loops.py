"""Rows 26, 34 and 35: loops of millions of turns, and more to watch than the processor can."""

from __future__ import annotations

import re
import time

import pytest
from conftest import PROGRAMS, SAMPLE, Build
from faults import EVERYTHING
from gdbdriver import Gdb, GdbError, Recorded
from scenario import everything, go

TURNS = 2_000_000 if SAMPLE else 10_000_000
SCRAMBLES = 60_000_000_000 if EVERYTHING else 1_000_000_000  # half a minute and more; seconds
SLOWER = "no hardware watchpoint is left for"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = "scenario_loops.c"
    folder, program = tmp_path_factory.mktemp("loops"), build(source, "-O0")
    made = Recorded(folder, program, PROGRAMS / source, str(TURNS), str(SCRAMBLES))
    assert made.done.returncode == 0, made.done.stderr
    return made


# Row 26.


@pytest.mark.slow
def test_row_26_a_long_seek_shows_progress_and_ctrl_c_ends_it(recorded: Recorded, gdb: Gdb) -> None:
    go(gdb, recorded, "filled")
    here = everything(gdb)
    gdb.run("python from rdb_gdb.link import progress")
    gdb.run("python progress._QUIET_S = 0.0")  # or this is not long on a quick machine
    began = time.monotonic()
    gdb.start("goto END")
    gdb.run_until_log("rdb-progress: seek: ")
    gdb.interrupt()
    with pytest.raises(GdbError, match=r"Interrupted; still where you were\."):
        gdb.finish()
    assert everything(gdb) == here
    gdb.start("goto END")
    gdb.run_until_log("rdb-progress: seek: ")
    gdb.finish()
    took_s = time.monotonic() - began
    assert gdb.state()["at_end"]
    assert not EVERYTHING or took_s > 30
    gdb.run("undo")
    assert everything(gdb) == here


# Row 34.


@pytest.fixture(scope="module")
def middle(recorded: Recorded) -> str:
    with recorded.gdb() as gdb:
        go(gdb, recorded, "mix", f"i == {TURNS // 2}")
        return str(gdb.state()["position"])


def test_row_34_reverse_stepi_in_the_middle(gdb: Gdb, middle: str) -> None:
    gdb.run(f"goto {middle}")
    assert gdb.integer("i") == TURNS // 2
    trail = [(gdb.registers(), gdb.value("sum"))]
    for _ in range(12):
        gdb.run("stepi")
        trail.append((gdb.registers(), gdb.value("sum")))
    gdb.run("goto END")
    gdb.run("undo")
    assert (gdb.registers(), gdb.value("sum")) == trail[-1]
    for before in reversed(trail[:-1]):
        gdb.run("reverse-stepi")
        assert (gdb.registers(), gdb.value("sum")) == before
    # And on, past where one came from: instruction by instruction the way that leads back.
    gdb.run("reverse-stepi 25")
    back = gdb.registers()
    gdb.run("stepi 25")
    assert gdb.registers() == trail[0][0]
    gdb.run("undo")
    assert gdb.registers() == back


def test_row_34_reverse_next_in_the_middle(gdb: Gdb, recorded: Recorded, middle: str) -> None:
    gdb.run(f"goto {middle}")
    for turn in range(TURNS // 2, TURNS // 2 - 3, -1):
        gdb.expect_at(recorded.at("mix"))
        assert gdb.integer("i") == turn
        while gdb.where() == recorded.at("mix") and gdb.integer("i") == turn:
            gdb.run("reverse-next")
        seen = set()
        while gdb.where() != recorded.at("mix"):
            seen.add(gdb.where())
            gdb.run("reverse-next")
            assert len(seen) < 5
        assert recorded.at("add") in seen
        assert gdb.function() == "turns"


# Row 35.


def rarely(gdb: Gdb) -> list[int]:
    return [gdb.integer(f"wide.part[{n}]") for n in range(60)]


def test_row_35_wider_than_a_register_forward(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "turned")
    gdb.run("watch wide.part")
    said = ""
    for number in range(1, 11):
        before = rarely(gdb)
        said += gdb.run("continue")
        assert gdb.function() == "rare"
        now = rarely(gdb)
        assert sum(one != other for one, other in zip(before, now, strict=True)) == 1
        assert sum(one != 0 for one in now) == number
    assert said.count(SLOWER) == 1
    gdb.run("delete")


@pytest.mark.slow
def test_row_35_wider_than_a_register_backwards(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "rarely")
    gdb.run("watch wide.part")
    said = ""
    for number in range(9, -1, -1):
        said += gdb.run("reverse-continue")
        gdb.expect_at(recorded.at("rare"))
        assert sum(one != 0 for one in rarely(gdb)) == number
        assert gdb.integer("wide.before") == gdb.integer("i")
    assert said.count(SLOWER) == 1
    gdb.run("undo 10")
    gdb.expect_at(recorded.at("rarely"))


def test_row_35_more_than_four_places(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "rarely")
    for row in range(12):
        gdb.run(f"watch apart[{row}][100]")
    said = ""
    for row in range(12):
        text = gdb.run("continue")
        assert f"atchpoint {row + 2}: apart[{row}][100]" in text, text
        assert f"New value = {row + 1}" in text
        said += text
    assert said.count(SLOWER) == 12 - 4
    for row in range(11, -1, -1):
        text = gdb.run("reverse-continue")
        assert f"atchpoint {row + 2}: apart[{row}][100]" in text, text
        assert gdb.integer(f"apart[{row}][100]") == 0
        gdb.expect_at(recorded.at("row"))
    # All twelve are watched, and nothing else stops: neither what lies beside nor equal values.
    gdb.run(f"break {recorded.at('filled')}")
    assert [gdb.function() for _ in range(13) if gdb.run("continue")] == ["rows"] * 12 + ["main"]


def test_row_35_by_events_too(gdb: Gdb, recorded: Recorded) -> None:
    """Bytes that a system call puts over a page's border are a change at its event."""
    go(gdb, recorded, "rarely")
    gdb.run("watch text")
    places = []
    for _ in range(3):
        gdb.run("continue")
        frames = gdb.run("backtrace")
        found = re.search(r"scenario_loops\.c:\d+", frames)
        assert found
        places.append(found[0])
    assert gdb.value("text[4093]") == "109 'm'"
    event = gdb.state()["event"]
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("last"))
    gdb.run("reverse-continue")
    assert gdb.value("text[4093]") == "0 '\\000'"
    assert gdb.state()["event"] == event - 1
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("inside"))


def test_row_35_reads_too(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "rarely")
    for row in range(6):
        gdb.run(f"rwatch apart[{row}][100]")
    text = gdb.run("continue")
    assert "apart[0][100]" in text and "Value = 1" in text
    gdb.run("continue")
    text = gdb.run("reverse-continue")
    assert "apart[1][100]" in text or "apart[0][100]" in text


def test_row_35_too_long_is_refused(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "rarely")
    gdb.run("set max-value-size unlimited")
    gdb.run("watch *(char (*)[100000000]) apart")
    here = gdb.registers()
    assert "aborted" in gdb.fails("continue")  # and the number of the watchpoint, before that
    assert gdb.registers() == here
    gdb.run("delete")
    gdb.run("stepi")
