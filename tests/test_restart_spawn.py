"""rdb restart of a job whose ranks start others: from before that; what is said after it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, run_rdb
from events import events_called

from rdb.recording import open_job

SAID = ["0: good", "1: good", "child 0: good", "child 1: good"]


def test_they_are_started_again(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_pml", "ob1")
    monkeypatch.setenv("OMPI_MCA_btl", "self,vader,tcp")
    monkeypatch.setenv("OMPI_MCA_rmaps_base_oversubscribe", "1")  # four processes, whatever it has
    home = tmp_path / "home"
    done = run_rdb(
        home, tmp_path, "run", "-n", "2", "--name", "job", "--", str(build("mpi/spawn.c"))
    )
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == SAID, done.stderr
    (spawns,) = events_called(open_job(home / "job").rank(0), "MPI_Comm_spawn(")
    again = run_rdb(home, tmp_path, "restart", "job", "--at", str(spawns - 1), "--name", "branch")
    assert again.returncode == 0 and sorted(again.stdout.splitlines()) == SAID, again.stderr
    assert open_job(home / "branch").ranks == [0, 1, 2, 3]
    refused = run_rdb(home, tmp_path, "restart", "job", "--at", str(spawns), "--plan")
    assert refused.returncode == 1
    assert "processes of another MPI_COMM_WORLD cannot be brought back" in refused.stderr
    refused = run_rdb(home, tmp_path, "restart", "job", "--rank", "2", "--at", "2", "--plan")
    assert refused.returncode == 1 and "was started by MPI_Comm_spawn" in refused.stderr
