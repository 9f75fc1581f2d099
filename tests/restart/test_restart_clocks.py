"""Clocks of a program that is brought back go on, also where the machine's are others.

time_namespaces(7) makes other clocks.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import deadlines
import pytest
from conftest import Build, run_rdb
from running import Running

from rdb.recording import open_job
from rdb.recording.log.record import Kind

GETPPID = 110
# The time since the boot can be made shorter only by what it is.
EARLIER = ("--monotonic=-5", "--boottime=-5")
LATER = ("--monotonic=1000000", "--boottime=2000000")


def other_clocks(offsets: Sequence[str]) -> list[str]:
    """A command that starts another where the monotonic clocks differ by so much."""
    for user in ((), ("--user", "--map-root-user")):
        command = ["unshare", *user, "--time", *offsets, "--"]
        if subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0:
            return command
    pytest.skip("no time namespace can be made here (unshare --time)")


@pytest.fixture(scope="module")
def program(build: Build) -> str:
    return str(build("live_clocks.c", "-pthread"))


def test_natively(tmp_path: Path, program: str) -> None:
    (tmp_path / "gate").touch()
    assert deadlines.native([program, tmp_path / "gate"]).stdout == "half\nfine\n"


@pytest.mark.parametrize("offsets", [(), EARLIER, LATER], ids=["same", "earlier", "later"])
def test_without_a_log(offsets: Sequence[str], tmp_path: Path, program: str) -> None:
    before = other_clocks(offsets) if offsets else []
    one = Running(tmp_path / "home", tmp_path, "job", "--", program, "gate")
    one.until("half")
    taken = one.rdb("checkpoint", "job", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    one.kill()
    # twice: the branch's clocks are ahead of the kernel's already
    two = Running(tmp_path / "home", tmp_path, "two", before=before, restart="job")
    two.until_all_run()
    # rdb knows a process by when it began, which is another time elsewhere
    taken = run_rdb(one.home, tmp_path, "checkpoint", "two", "--timeout", "90", before=before)
    assert taken.returncode == 0, taken.stderr
    two.kill()
    (tmp_path / "gate").touch()
    (tmp_path / "next").touch()
    done = one.rdb("restart", "two")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize("offsets", [(), EARLIER, LATER], ids=["same", "earlier", "later"])
@pytest.mark.parametrize("every", ["0", "20events"], ids=["from-the-start", "from-an-image"])
def test_from_a_log(every: str, offsets: Sequence[str], tmp_path: Path, program: str) -> None:
    before = other_clocks(offsets) if offsets else []
    home = tmp_path / "home"
    (tmp_path / "gate").touch()
    options = ("--name", "job", "--checkpoint-every", every)
    run = ("run", *options, "--", program, str(tmp_path / "gate"))
    done = run_rdb(home, tmp_path, *run)
    assert (done.returncode, done.stdout) == (0, "half\nfine\n"), done.stderr
    at = next(
        record.event
        for record in open_job(home / "job").rank(0).records()
        if record.kind is Kind.SYSCALL and record.nr == GETPPID
    )
    (tmp_path / "next").touch()
    done = run_rdb(
        home, tmp_path, "restart", "job", "--name", "branch", "--at", str(at), before=before
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    verified = run_rdb(home, tmp_path, "replay", "branch", "--verify")
    assert verified.returncode == 0, verified.stderr
