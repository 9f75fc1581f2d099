"""rdb restart of a program with timers of timer_create(2): their numbers, and what was left."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import Running
from test_restart_threads import Recorded

from rdb.recording.log.record import Kind

INTERPOSER = Path(__file__).resolve().parents[2] / "interposer"
GETPPID, TIMER_SETTIME, TIMER_CREATE = 110, 223, 222
SAID = "well, once: 1"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("timers"), build("live_timers.c"))


def test_what_is_left_of_a_timer(build: Build) -> None:
    """By the times of the log alone."""
    flags = ("-std=gnu17", "-D_GNU_SOURCE", "-mfsgsbase", "-msse4.2", f"-I{INTERPOSER}")
    program = build("timers_left.c", *flags, "-ffunction-sections", "-Wl,--gc-sections")
    done = deadlines.native([program], check=False)
    assert done.stdout == "ok\n"


def test_all_kinds_go_on(recorded: Recorded) -> None:
    """Also where the program knows clocks of its threads by the numbers that these had."""
    assert recorded.last_line == SAID
    first, second = recorded.events(recorded.job, Kind.SYSCALL, GETPPID)
    made = recorded.events(recorded.job, Kind.SYSCALL, TIMER_CREATE)
    branch = recorded.restart("job", first, "first")
    recorded.restart("job", made[2], "between")
    recorded.restart("job", second, "second")
    again = recorded.events(branch, Kind.SYSCALL, GETPPID)[-1]
    recorded.restart("first", again, "again")


def test_where_a_signal_is_on_its_way(recorded: Recorded) -> None:
    """Before an answer that says so: it has gone off and was not heard."""
    waits = recorded.events(recorded.job, Kind.SYSCALL, 128)  # rt_sigtimedwait
    recorded.restart("job", waits[0] - 1, "under-way")


def test_from_a_checkpoint_without_a_log(tmp_path: Path, build: Build) -> None:
    program = str(build("live_timers.c"))
    one = Running(tmp_path / "home", tmp_path, "half", "--", program, "gate")
    one.until("half")
    taken = one.rdb("checkpoint", "half", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    one.kill()
    (tmp_path / "gate").touch()
    done = one.rdb("restart", "half")
    assert done.returncode == 0 and done.stdout.endswith(f"{SAID}\n"), done.stderr
