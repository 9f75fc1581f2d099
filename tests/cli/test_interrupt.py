"""Ctrl-C in a terminal where ranks run: exit code 130, whatever the launcher makes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import deadlines
import pexpect  # type: ignore[import-untyped]
import pytest
from conftest import Build
from deadlines import wait_for
from terminal import DEADLINE_S, ended, environment

from rdb.cli.run import run_foreground
from rdb.launch import inherited
from rdb.recording import open_job


def interrupted(
    home: Path, name: str, arguments: Sequence[str], ranks: int
) -> tuple[int | None, str]:
    """Ctrl-C when both ranks of job NAME are there, and RANKS have said that they wait: the exit
    code, and what was said after it."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "rdb", *arguments],
        env=environment(home),
        encoding="utf-8",
        timeout=DEADLINE_S,
    )
    for _ in range(ranks):
        child.expect_exact(" waits")
    logs = [home / name / f"rank-{rank}/log-000000.seg" for rank in range(2)]
    wait_for("both ranks", lambda: all(log.exists() for log in logs))
    child.sendcontrol("c")
    code = ended(child)
    return code, child.before


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_job_that_ctrl_c_ended_says_130(mpi: str, tmp_path: Path, build: Build) -> None:
    program = str(build("mpi/deadlock.c", "-O0"))
    home = tmp_path / "home"
    line = ("run", "-n", "2", f"--mpi={mpi}", "--name", "job", "--", program, "cycle")
    code, said = interrupted(home, "job", line, 2)
    assert code == 130 and "recorded job job (2 ranks, exit code 130)" in said, said
    recording = open_job(home / "job").rank(0)
    last = recording.last_event
    events = ((at, recording.describe(at)) for at in range(last, 0, -1))
    writes = (at - 1 for at, said in events if said.removeprefix("thread 1: ")[:6] == "write(")
    before = next(writes, last)  # a launcher may kill it before it has logged what is seen already
    line = ("restart", "job", "--at", str(before), "--mpi", mpi, "--name", "branch")
    code, said = interrupted(home, "branch", line, 1)
    assert code == 130 and f"a branch of job at event {before} of rank 0, " in said, said
    assert "exit code 130); rdb attach branch" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_program_is_started_reaches_it(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn = inherited.spawn

    def slowly(line: list[str], env: Mapping[str, str]) -> int:
        signal.pthread_kill(threading.get_ident(), number)  # as if it had no other threads
        return spawn(line, env)

    monkeypatch.setattr(inherited, "spawn", slowly)
    assert run_foreground(["/bin/sleep", str(DEADLINE_S)], os.environ) == 128 + number


FORWARDED = ("INT", "QUIT", "TERM", "HUP", "USR1", "USR2", "ALRM")


@pytest.mark.parametrize("name", FORWARDED)
def test_a_signal_to_rdb_run_reaches_the_program(name: str, tmp_path: Path) -> None:
    """Without a terminal, where nobody else sends it."""
    script = f"""import signal, sys
signal.signal(signal.SIG{name}, lambda number, frame: sys.exit(40 + number))
print("waits", flush=True)
while True:
    signal.pause()
"""
    with subprocess.Popen(
        [sys.executable, "-m", "rdb", "run", "--", sys.executable, "-c", script],
        env={**os.environ, "RDB_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None and running.stdout.readline() == b"waits\n"
        number = signal.Signals[f"SIG{name}"]
        running.send_signal(number)
        assert deadlines.wait(running, DEADLINE_S) == 40 + number
