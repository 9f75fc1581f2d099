"""Where a recording ends: after its last event, or somewhere that the log does not say."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deadlines
import pytest
from conftest import PROGRAMS, Build, Rdb
from gdbdriver import GdbError, Recorded, in_console

from rdb.paths import rdb_exec_path
from rdb.recording import open_job
from rdb.recording.rank import RankRecording
from rdb.timeline import travel
from rdb.timeline.stopped import NoSuchPosition
from rdb.timeline.timeline import Timeline


@pytest.fixture
def tail(tmp_path: Path, build: Build) -> Recorded:
    source = "after_the_last_event.c"
    made = Recorded(tmp_path, build(source, "-O0"), PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    return made


def test_bisect_sees_what_follows_the_last_event(tail: Recorded) -> None:
    with tail.gdb() as gdb:
        answer = gdb.run("bisect x < 2")
        assert "turned false" in answer, answer
        gdb.expect_at(tail.at("second"))
        assert gdb.integer("x") == 1


def test_bisect_of_what_holds_to_the_very_end_is_refused(tail: Recorded) -> None:
    with tail.gdb() as gdb, pytest.raises(GdbError, match="still true at the end"):
        gdb.run("bisect x < 4")


def wait_for_the_write(rank_dir: Path, files: Path) -> None:
    """The answer of the write is logged a moment after its output can be read."""
    until = deadlines.Deadline(90)
    while not until.over():
        recording = RankRecording(rank_dir, files)
        if recording.describe(recording.last_event).startswith("write("):
            return
        time.sleep(0.01)
    raise AssertionError("the write was not logged")


def test_a_rank_killed_in_a_loop_ends_at_its_last_event(tmp_path: Path, build: Build) -> None:
    rank_dir, files = tmp_path / "rank-0", tmp_path / "files"
    rank_dir.mkdir()
    files.mkdir()
    with subprocess.Popen(
        [rdb_exec_path(), "--dir", rank_dir, "--files", files, "--", build("faults.c"), "spin"],
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"how: spin\n"
        wait_for_the_write(rank_dir, files)
        running.send_signal(signal.SIGKILL)
        assert deadlines.wait(running, 90) == -signal.SIGKILL
    recording = RankRecording(rank_dir, files)
    timeline = Timeline(recording)
    try:
        stopped = timeline.goto_end()
        assert stopped.reason == "end"
        assert f"somewhere after event {recording.last_event}" in stopped.text
        assert timeline.at_end
        assert timeline.event == recording.last_event
        assert timeline.step(forward=False).reason == "step"
    finally:
        timeline.close()


KILLED = """
#include <sys/resource.h>
static volatile long turns;
int main(void) {
  struct rusage used; // to come here: a second on a machine that stood still
  getrusage(RUSAGE_SELF, &used);
  const rlim_t s = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 2;
  setrlimit(RLIMIT_CPU, &(struct rlimit){s, s}); // SIGKILL, a second or so from now
  for (;;)
    turns++;
}
"""


@pytest.mark.slow
def test_bisect_does_not_know_how_far_a_killed_loop_came(
    rdb: Rdb, build_text: Callable[..., Path]
) -> None:
    program = build_text("killed", KILLED)
    assert rdb("run", "--name", "job", "--", program).returncode == 128 + signal.SIGKILL
    done = rdb("bisect", "job", "turns < 5")
    assert done.returncode == 1
    assert "the last; what followed is not known" in done.stdout
    home = Path(os.environ["RDB_HOME"])
    lines = ["ranks", "when", "reverse-stepi", "undo", "goto start", "undo", "deadlock"]
    said = in_console(home, "job", lines)
    last = open_job("job").rank(0).last_event
    assert re.search(rf"killed +{last + 1}  after {last} +main", said[0]), said[0]
    assert f"event: {last} ({last}), the last; what followed is not known" in said[1], said[1]
    for back in (said[3], said[5]):
        assert f"event {last} (the last; the end is not known)" in back, back
    assert "end of the recording" not in "".join(said[:4]), said


def test_an_end_that_is_known(rdb: Rdb, build: Build) -> None:
    program = build("after_the_last_event.c", "-O0")
    assert rdb("run", "--name", "job", "--", program).returncode == 0
    said = in_console(Path(os.environ["RDB_HOME"]), "job", ["ranks", "when"])
    assert re.search(r"exited 0 +\d+  end ", said[0]), said[0]
    assert said[1].endswith(", the end of the recording\n"), said[1]


def test_an_end_that_has_no_name(
    rdb: Rdb, build_text: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stands at the last event, which is said."""
    program = build_text("ends", "#include <unistd.h>\nint main(void) { getppid(); return 3; }")
    assert rdb("run", "--name", "job", "--", program).returncode == 3

    def unknown(*arguments: Any) -> Any:
        raise NoSuchPosition("it is elsewhere")

    monkeypatch.setattr(travel.Travel, "name", unknown)
    with Timeline(open_job("job").rank(0)) as timeline:
        stopped = timeline.goto_end()
        assert stopped.reason == "end"
        assert f"somewhere after event {timeline.last_event}" in stopped.text
        assert timeline.event == timeline.last_event


def test_a_busy_machine_does_not_move_the_end(
    rdb: Rdb, build_text: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long one looks for it is processor time: here the replica gets none for a while."""
    program = build_text(
        "ends",
        "int main(void) { for (volatile int i = 0; i < 20000000; i++); return 3; }",
    )
    assert rdb("run", "--name", "job", "--", program).returncode == 3
    monkeypatch.setattr(travel, "END_S", 1.0)
    with Timeline(open_job("job").rank(0)) as timeline:
        control = timeline.control
        within = control.within

        def hold(*arguments: Any) -> Any:
            def starve() -> None:
                while not control._running:
                    time.sleep(0.001)
                (agent,) = control._running
                os.kill(agent.pid, signal.SIGSTOP)
                threading.Event().wait(3 * travel.END_S)
                os.kill(agent.pid, signal.SIGCONT)

            threading.Thread(target=starve, daemon=True).start()
            return within(*arguments)

        monkeypatch.setattr(control, "within", hold)
        stopped = timeline.goto_end()
        assert stopped.reason == "end" and "somewhere" not in stopped.text, stopped
