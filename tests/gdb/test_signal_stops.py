"""GDB stops at the signals that the program handles, as it does on a live program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from scenario import moved

SOURCE = "signal_stops.c"
STOP_ALL = "handle SIGALRM SIGCHLD stop print pass"
QUIET = "nostop noprint pass"
NAMES = ("continue", "step", "next", "stepi")


@pytest.fixture(scope="module")
def program(build: Build) -> Path:
    return build(SOURCE, "-O0", "-pthread")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Recorded:
    made = Recorded(tmp_path_factory.mktemp("signals"), program, PROGRAMS / SOURCE)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def peer(program: Path) -> Iterator[Gdb]:
    """GDB alone, on the live program."""
    with Gdb() as gdb:
        gdb.run(f"file {program}")
        gdb.run("set environment LD_BIND_NOW=1")
        gdb.run("starti")
        yield gdb
        gdb.run("kill")


def named(gdb: Gdb) -> list[tuple[object, ...]]:
    """Frames of the program and of handlers."""
    return [
        (frame.get("func"), frame.get("line"))
        for frame in gdb.frames()
        if frame.get("file", "").endswith(SOURCE) or frame["func"] == "<signal handler called>"
    ]


def signal_in(said: str) -> str | None:
    found = re.search(r"received signal (\w+)|Catchpoint \d+ \(signal (\w+)\)", said)
    return found and (found[1] or found[2])


def seen(gdb: Gdb, commands: tuple[str, ...]) -> list[object]:
    found: list[object] = []
    for command in commands:
        said = gdb.run(command)
        if command.startswith(("p ", "x")):
            found.append((command, said.partition("= ")[2]))
        elif command.split()[0] in (*NAMES, "finish"):
            found.append((command, signal_in(said), named(gdb)))
    return found


@pytest.mark.parametrize(
    "commands",
    [
        ("handle SIGALRM stop print pass", "tbreak main", *("continue",) * 12),
        ("tbreak main", *("continue",) * 11),
        (f"handle SIGUSR1 SIGTERM {QUIET}", "tbreak main", *("continue",) * 4),
        ("handle SIGUSR1 nostop print pass", "tbreak main", *("continue",) * 7),
        ("tbreak main", "continue", *("next",) * 38),
        ("tbreak main", "continue", *("step",) * 60),
        (f"handle SIGUSR1 SIGUSR2 SIGTERM {QUIET}", "tbreak main", "continue", *("next",) * 36),
        (f"handle all {QUIET}", "tbreak main", "continue", *("step",) * 40),
        ("catch signal SIGUSR2", "tbreak main", *("continue",) * 6),
        ("break on_signal if last == 0", "tbreak main", *("continue",) * 8),
        (
            "break on_signal",
            "tbreak main",
            *("continue",) * 5,
            "finish",
            "next",
            "next",
            "continue",
        ),
        (
            *("tbreak main", "continue", "continue", "p $_siginfo.si_signo", "p $_siginfo.si_code"),
            *("stepi", "p $pc == on_signal", "step", "step", "finish", "next"),
            "continue",
            *("continue", "p $_siginfo._sifields._rt.si_sigval.sival_int", "step", "finish"),
        ),
    ],
)
def test_the_stops_are_those_of_gdb_alone(
    recorded: Recorded, peer: Gdb, commands: tuple[str, ...]
) -> None:
    with recorded.gdb() as gdb:
        assert seen(gdb, commands) == seen(peer, commands)


def stops(gdb: Gdb, motion: str) -> list[tuple[str | None, str]]:
    found = []
    while moved(said := gdb.run(motion)) and len(found) < 100:
        found.append((signal_in(said), str(gdb.state()["position"])))
    return found


@pytest.mark.parametrize(
    "points",
    [
        (),
        ("break on_signal", "break wait_for"),
        ("break main", "break on_nested", "break *on_nested", "watch last", "awatch handled"),
        ("break raise", "break kill", "break pair", "watch lines if lines > 3"),
    ],
)
def test_the_way_back_has_the_stops_of_the_way_there(
    recorded: Recorded, points: tuple[str, ...]
) -> None:
    with recorded.gdb() as gdb:
        gdb.run(STOP_ALL)
        gdb.run("tbreak main")
        gdb.run("continue")
        for point in points:
            gdb.run(point)
        if not any("watch" in one for one in points):
            there = stops(gdb, "continue")
            back = stops(gdb, "reverse-continue")
            assert [one for one in back[::-1] if one != ("", "0")][-len(there) :] == there
        else:
            there = [one for one in stops(gdb, "continue") if one[0]]
            assert [one for one in stops(gdb, "reverse-continue")[::-1] if one[0]] == there
        assert len([one for one in there if one[0]]) == 12


def test_undo_and_redo_of_a_stop_at_a_signal(recorded: Recorded) -> None:
    with recorded.gdb() as gdb:
        assert signal_in(gdb.run("continue")) == "SIGUSR1"
        first = gdb.state()["position"]
        assert signal_in(gdb.run("continue")) == "SIGUSR2"
        second = gdb.state()["position"]
        gdb.run("undo")
        assert gdb.state()["position"] == first
        said = gdb.run("continue")
        assert signal_in(said) == "SIGUSR2"
        assert "rdb:" not in said  # GDB has given a signal that it was told of elsewhere
        gdb.run("undo 2")
        assert signal_in(gdb.run("continue")) == "SIGUSR1"
        assert gdb.state()["position"] == first
        gdb.run("stepi")
        gdb.run("reverse-stepi")
        assert gdb.state()["position"] == first
        gdb.run(f"goto {second}")
        # Nobody has heard of it since the rank was moved there.
        assert signal_in(gdb.run("continue")) == "SIGUSR2"
        assert gdb.state()["position"] == second
        assert signal_in(gdb.run("reverse-continue")) == "SIGUSR1"
        assert gdb.state()["position"] == first


def test_out_of_a_handler_backwards(recorded: Recorded) -> None:
    with recorded.gdb() as gdb:
        gdb.run("break on_value")
        gdb.run(f"handle all {QUIET}")
        gdb.run("continue")
        gdb.expect_at(recorded.at("valued"))
        gdb.run("handle SIG37 stop print")
        assert signal_in(gdb.run("reverse-continue")) == "SIG37"
        assert gdb.integer("$_siginfo._sifields._rt.si_sigval.sival_int") == 42
        gdb.run("stepi")
        gdb.run("reverse-finish")
        assert "on_value" not in [frame.get("func") for frame in gdb.frames()]


def test_there_is_no_siginfo_where_no_signal_comes(recorded: Recorded) -> None:
    with recorded.gdb() as gdb:
        gdb.run("tbreak main")
        gdb.run("continue")
        gdb.fails("p $_siginfo")


def test_a_signal_that_was_not_recorded_is_refused_once(recorded: Recorded) -> None:
    said_once = "a replay delivers the signals that were recorded"
    with recorded.gdb() as gdb:
        gdb.run("tbreak main")
        gdb.run("continue")
        said = gdb.run("signal SIGUSR2")
        assert f"{said_once}: none here" in said
        assert signal_in(said) == "SIGUSR1"
        said = gdb.run("signal 0")
        assert said_once not in said
        assert gdb.integer("handled") == 1
    with recorded.gdb() as gdb:
        gdb.run("continue")
        gdb.run("queue-signal SIGTERM")
        assert f"{said_once}: SIGUSR1 here" in gdb.run("continue")
        assert gdb.integer("last") == gdb.integer("10")


def test_searches_are_not_interrupted(recorded: Recorded) -> None:
    with recorded.gdb() as gdb:
        gdb.run("goto END")
        gdb.run("bisect handled < 3")
        assert gdb.integer("handled") == 2
        gdb.run("goto START")
        gdb.run("find-event SIGTERM")
        gdb.run("goto END")
        gdb.run("last lines")
        gdb.expect_at(recorded.at("after-timer"))


def test_in_a_branch_too(recorded: Recorded) -> None:
    with recorded.gdb() as gdb:
        gdb.run("tbreak main")
        gdb.run("continue")
        gdb.run("set var value = 7")
        assert signal_in(gdb.run("continue")) == "SIGUSR1"
        assert signal_in(gdb.run("continue")) == "SIGUSR2"
        assert signal_in(gdb.run("continue")) == "SIG37"
        assert gdb.integer("handled") == 2
        assert gdb.integer("value") == 7
