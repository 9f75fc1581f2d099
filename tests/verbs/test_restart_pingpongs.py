"""rdb restart of the pingpongs of ibverbs-utils, over the software HCA: nothing is lost or doubled.

Both sides talk through a socket first.  `make test` restarts one of them at one random moment;
RDB_TEST_LIVE=10 (make test-live) each at so many.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import deadlines
import pingpongs
import pytest
from conftest import TIMEOUT_S, run_rdb
from verbspair import free_port

from rdb.recording import Job, open_job

MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))
KINDS = pingpongs.KINDS if MANY else ("ud",)


def record(home: Path, folder: Path, kind: str) -> Job:
    assert shutil.which(f"ibv_{kind}_pingpong"), "ibverbs-utils is one of the Makefile's packages"
    port = free_port()
    words = pingpongs.pingpong(kind, port)
    line = pingpongs.job_line([sys.executable, "-m", "rdb"], kind, "soft", words, port)
    env = {**os.environ, "RDB_HOME": str(home)}
    done = deadlines.run(line, TIMEOUT_S, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    pingpongs.check(done.stdout)
    return open_job(home / kind)


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_at_a_random_moment(kind: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    job = record(home, tmp_path, kind)
    cuts = pingpongs.cuts(job, 1)
    for _ in range(MANY or 1):
        rank, event, cut = next(cuts)
        at = ("--rank", str(rank), "--at", str(event))
        done = run_rdb(home, tmp_path, "restart", kind, *at, "--name", "cut")
        assert done.returncode == 0, f"{cut.events}: {done.stderr}"
        pingpongs.check(done.stdout)
        verified = run_rdb(home, tmp_path, "replay", "cut", "--verify")
        assert verified.returncode == 0, f"{cut.events}: {verified.stderr}"
        run_rdb(home, tmp_path, "rm", "cut")


def test_lids_are_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From one InfiniBand port to another, whose fabric does not know the old LID, and from there
    to Ethernet, where there are none."""
    home = tmp_path / "home"
    monkeypatch.setenv("RDB_HCA_LID", "5")
    job = record(home, tmp_path, "rc")
    for lid, name in (("9", "first"), ("", "second")):
        monkeypatch.setenv("RDB_HCA_LID", lid)
        rank, event, cut = next(pingpongs.cuts(job, 3))
        at = ("--rank", str(rank), "--at", str(event))
        done = run_rdb(home, tmp_path, "restart", job.name, *at, "--name", name)
        assert done.returncode == 0, f"{cut.events}: {done.stderr}"
        pingpongs.check(done.stdout)
        job = open_job(home / name)
    assert run_rdb(home, tmp_path, "replay", "second", "--verify").returncode == 0
