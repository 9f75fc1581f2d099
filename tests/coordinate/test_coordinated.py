"""Checkpoints of programs that run without a log (--record=off), and going on from them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import deadlines
import pytest
from conftest import INCLUDE, Build, replay_agrees, run_rdb
from running import DEADLINE_S, RANKS, BuildText, Running, sums, sums_after

from rdb.coordinate.coordinated import committed
from rdb.live.from_checkpoint import prepare
from rdb.recording import open_job


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Running:
    """Killed after two checkpoints; `whole` is what an uninterrupted run wrote."""
    folder = tmp_path_factory.mktemp("together")
    program = build("coordinated.c")
    (folder / "gate").touch()
    said = subprocess.run(
        [program, "40", "whole", "gate"], cwd=folder, check=True, capture_output=True, text=True
    )
    (folder / "said").write_text(said.stdout)
    (folder / "gate").unlink()
    one = Running(folder / "home", folder, "half", "--", str(program), "40", "out", "gate")
    one.until("half")
    first, second = (one.rdb("checkpoint", "half", "--timeout", "90") for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "rank 0: checkpoint 1" in first.stdout and "the rank was stopped for" in first.stdout
    assert "rank 0: checkpoint 2" in second.stdout
    packed = one.rdb("pack", "half", "-o", str(folder / "half.rdb"), "--since", "2")
    assert packed.returncode == 0, packed.stderr  # while it runs
    assert "its newest checkpoint is 2" in one.kill()
    (folder / "gate").touch()
    (folder / "out").write_text("altered since\n")
    return one


def test_it_goes_on_from_each_checkpoint(half: Running) -> None:
    for number in (1, 2):
        done = half.rdb("restart", "half", "--at", f"ckpt:{number}", "--name", f"from{number}")
        assert done.returncode == 0, done.stderr
        assert (half.folder / "said").read_text().endswith(done.stdout) and "sum" in done.stdout
        (copy,) = (half.home / f"from{number}/rank-0").glob("file-*")
        assert copy.read_bytes() == (half.folder / "whole").read_bytes()


def test_its_pack_goes_on_elsewhere(half: Running) -> None:
    home, pack = half.folder / "elsewhere", str(half.folder / "half.rdb")
    done = run_rdb(home, half.folder, "restart", pack, "--at", "ckpt:2", "--name", "there")
    assert done.returncode == 0, done.stderr
    assert (half.folder / "said").read_text().endswith(done.stdout) and "sum" in done.stdout
    (copy,) = (home / "there/rank-0").glob("file-*")
    assert copy.read_bytes() == (half.folder / "whole").read_bytes()
    older = run_rdb(home, half.folder, "restart", pack, "--at", "ckpt:1")
    assert older.returncode == 4 and "it has ckpt:2" in older.stderr
    assert [path.name for path in (half.home / "half").glob(".pack*")] == []


def test_it_is_recorded_from_there_on(half: Running) -> None:
    done = half.rdb("restart", "half", "--record", "full", "--name", "recorded")
    assert done.returncode == 0, done.stderr
    replay_agrees(half.rdb, "recorded")
    assert "no log" not in half.rdb("info", "recorded").stdout
    assert half.rdb("find-event", "recorded", "write").returncode == 0
    shown = half.rdb("info", "half").stdout
    assert "killed" in shown and "no log (--record=off)" in shown


def test_its_events_are_not_known(half: Running) -> None:
    """It has no log: that is no negative answer."""
    for command in (
        ["bisect", "half", "x > 0"],
        ["find-event", "half", "write"],
        ["find-event", "half", "allfinite(x)"],
        ["messages", "half"],
        ["deadlock", "half"],
        ["timeline", "half"],
    ):
        done = half.rdb(*command)
        assert (done.returncode, done.stdout) == (4, ""), done
        assert "ran with --record=off" in done.stderr and len(done.stderr.splitlines()) == 1
    assert "ran with --record=off" in half.rdb("replay", "half").stderr
    assert "--record=order" in half.rdb("expand", "half").stderr


def test_what_is_not_whole_is_not_offered(half: Running) -> None:
    none = half.rdb("restart", "half", "--at", "ckpt:3")
    assert none.returncode == 4 and "it has ckpt:1, ckpt:2" in none.stderr
    state = half.home / "half/rank-0/state-2"
    whole = state.read_bytes()
    for altered, said in (
        (whole[:-1] + bytes([whole[-1] ^ 1]), "it is damaged: expected bytes with a matching"),
        (whole[:40], "it is damaged: expected a header at offset 0"),
    ):
        state.write_bytes(altered)
        done = half.rdb("restart", "half", "--at", "ckpt:2")
        assert done.returncode == 5 and said in done.stderr and done.stderr.count("\n") == 1
    state.unlink()
    gone = half.rdb("restart", "half", "--at", "ckpt:2")
    assert gone.returncode == 5 and "state-2 is missing" in gone.stderr
    older = half.rdb("restart", "half")
    assert older.returncode == 0, older.stderr
    assert older.stderr.startswith("rdb: checkpoint 2 is not used: ")
    assert "(from checkpoint 1 of half, exit code 0)" in older.stderr
    state.write_bytes(whole)


def test_what_cannot_be_brought_back_is_refused_and_goes_on(
    tmp_path: Path, build_text: BuildText
) -> None:
    program = build_text(
        "socket",
        """
        #include <stdio.h>
        #include <sys/socket.h>
        #include <unistd.h>
        int main(void)
        {
            int s = socket(AF_NETLINK, SOCK_RAW, 0);
            puts("there");
            fflush(stdout);
            while (access("gate", F_OK))
                usleep(1000);
            return s < 0;
        }
        """,
    )
    one = Running(tmp_path / "home", tmp_path, "socket", "--", str(program))
    one.until("there")
    refused = one.rdb("checkpoint", "socket")
    assert refused.returncode == 1 and "is a socket of a kind that" in refused.stderr
    (tmp_path / "gate").touch()
    assert deadlines.wait(one.process, DEADLINE_S) == 0
    ended = deadlines.Deadline(DEADLINE_S)
    while (tmp_path / "home/socket").exists():  # nothing is left of a job without checkpoints
        assert not ended.over()
        time.sleep(0.02)


def test_the_program_and_the_clock_ask_for_them(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text(
        "asks",
        f"""
        #include "{INCLUDE}/rdb.h"
        #include <stdio.h>
        #include <unistd.h>
        int main(void)
        {{
            int asked = rdb_checkpoint();
            printf("went on, %d\\n", asked);
            fflush(stdout);
            while (access("gate", F_OK))
                for (volatile int k = 0; k < 1000000; k++)
                    ;
            return 7;
        }}
        """,
    )
    (tmp_path / "gate").touch()
    alone = deadlines.native([program], check=False, cwd=tmp_path)
    assert alone.stdout == "went on, -1\n"
    (tmp_path / "gate").unlink()
    line = ("--checkpoint-every", "auto", "--mtbf", "1", "--", str(program))
    one = Running(tmp_path / "home", tmp_path, "asks", *line)
    one.until("went on, 0")
    until = deadlines.Deadline(DEADLINE_S)
    job = tmp_path / "home/asks"
    while not (job / "commit-9").exists():
        assert not until.over()
        time.sleep(0.02)
    (tmp_path / "gate").touch()
    assert deadlines.wait(one.process, DEADLINE_S) == 7
    shown = one.rdb("info", "asks").stdout
    assert "exited 7" in shown and "together: ckpt:" in shown
    kept = sorted(int(path.name.split("-")[1]) for path in job.glob("commit-*"))
    newest = kept[-1]
    assert 4 <= len(kept) <= 8 and kept == list(range(kept[0], newest + 1)) and kept[0] > 1
    for pattern, numbers in (("state-*", slice(6, None)), ("ckpt-*.img", slice(5, 11))):
        files = [path.name[numbers] for path in (job / "rank-0").glob(pattern)]
        there = {int(number) for number in files if number.isdigit()}
        assert there.issuperset(kept) and min(there) == kept[0]
    done = one.rdb("restart", "asks", "--at", f"ckpt:{kept[0]}")
    assert (done.returncode, done.stdout) == (7, ""), done.stderr


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Running:
    """An MPI job that was killed after two checkpoints, the second of what had gone on."""
    folder = tmp_path_factory.mktemp("ranks")
    program = build("mpi/coordinated_mpi.c")
    one = Running(
        folder / "home", folder, "ranks", "-n", str(RANKS), "--", str(program), "20", "gate"
    )
    one.until("half")
    first, second = (one.rdb("checkpoint", "ranks", "--timeout", "90") for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert [line.split(",")[0] for line in second.stdout.splitlines()] == [
        f"rank {rank}: checkpoint 2" for rank in range(RANKS)
    ]
    (folder / "gate").touch()
    assert one.process.stdout is not None
    (folder / "sums").write_text("".join(sorted(one.process.stdout)))
    assert deadlines.wait(one.process, DEADLINE_S) == 0
    return one


def test_ranks_go_on_from_what_all_have(ranks: Running) -> None:
    whole = (ranks.folder / "sums").read_text().splitlines()
    assert len(whole) == RANKS  # it went on after both
    done = ranks.rdb("restart", "ranks", "--at", "ckpt:2")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole


def test_a_branch_names_the_launcher_that_starts_it(
    ranks: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDB_HOME", str(ranks.home))
    job = open_job(ranks.home / "ranks")
    at = committed(job.path)[-1]
    branch = prepare(job, at, "by-srun", False, False, [], None, "srun")
    assert open_job(branch).meta["launcher"] == "srun"
    open_job(branch).remove()


def test_a_pack_of_ranks_goes_on_elsewhere(ranks: Running) -> None:
    home, pack = ranks.folder / "elsewhere", str(ranks.folder / "ranks.rdb")
    assert ranks.rdb("pack", "ranks", "-o", pack).returncode == 0
    done = run_rdb(home, ranks.folder, "restart", pack, "--at", "ckpt:1")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == (ranks.folder / "sums").read_text().splitlines()
    for options, code, said in (
        (("--ranks", "0"), 2, "its ranks restart together"),
        (("--since", "3"), 4, "has no checkpoint 3 or later"),
    ):
        refused = ranks.rdb("pack", "ranks", "-o", pack, *options)
        assert refused.returncode == code and said in refused.stderr


def test_ranks_are_recorded_from_there_on(ranks: Running) -> None:
    """Some stand within MPI_Sendrecv_replace, and have sent."""
    done = ranks.rdb("restart", "ranks", "--at", "ckpt:1", "--record", "full", "--name", "traced")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == (ranks.folder / "sums").read_text().splitlines()
    verified = ranks.rdb("replay", "traced", "--verify")
    assert verified.returncode == 0 and verified.stdout.count("agree") == RANKS, verified.stderr
    refused = ranks.rdb("restart", "traced", "--rank", "0", "--at", "30")
    assert refused.returncode == 1 and refused.stderr == (
        "rdb: traced was recorded from a checkpoint of ranks on, after MPI_Init: its log does not "
        "hold the MPI objects that existed before; restart ranks, from one of its checkpoints\n"
    )


def test_a_restart_has_checkpoints_of_its_own_and_goes_on_from_them(ranks: Running) -> None:
    whole = (ranks.folder / "sums").read_text().splitlines()
    (ranks.folder / "gate").unlink()
    again = Running(ranks.home, ranks.folder, "again", "--at", "ckpt:1", restart="ranks")
    again.until_all_run()
    assert sums_after(again, 2) == whole
    done = ranks.rdb("restart", "again", "--at", "ckpt:2")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole


def test_windows_go_on_in_their_epochs(tmp_path: Path, build: Build) -> None:
    """Between fences, in an epoch of locks with operations begun; after posts and starts."""
    line = ("-n", str(RANKS), "--", str(build("mpi/coordinated_windows.c")), "10", "gate")
    one = Running(tmp_path / "home", tmp_path, "windows", *line)
    one.until("half")
    whole = sums_after(one, 1)
    assert len(whole) == RANKS and all(line.endswith("total 60") for line in whole)
    done = one.rdb("restart", "windows")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole


def test_rarer_objects_of_mpi_go_on_over_another_one(tmp_path: Path, build: Build) -> None:
    """Inter-communicators, buffered and matched messages, attached and shared memory."""
    line = (
        "--mpi",
        "openmpi",
        "-n",
        "4",
        "--",
        str(build("mpi/coordinated_objects.c")),
        "6",
        "gate",
    )
    one = Running(tmp_path / "home", tmp_path, "objects", *line)
    one.until("half")
    whole = sums_after(one, 1)
    assert len(whole) == 4 and all(line.endswith("room 1") for line in whole)
    done = one.rdb("restart", "objects", "--mpi", "mpich", "--record", "full", "--name", "recorded")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole
    verified = one.rdb("replay", "recorded", "--verify")
    assert verified.returncode == 0 and verified.stdout.count("agree") == 4, verified.stderr


def said_over_both(name: str, mpi: str, tmp_path: Path, build: Build) -> list[str]:
    """What two ranks say after a checkpoint, which is what its restarts over both MPIs say.

    A restart goes on over the job's own MPI, or rdb says what it goes on over.
    """
    program = str(build(f"mpi/{name}.c", compiler="mpicc"))
    one = Running(tmp_path / "home", tmp_path, name, "--mpi", mpi, "-n", "2", "--", program, "gate")
    one.until("there")
    whole = sums_after(one, 1)
    for over in ("openmpi", "mpich"):
        done = one.rdb("restart", name, *(("--mpi", over) if over != mpi else ()))
        assert done.returncode == 0, done.stderr
        assert sums(done.stdout) == whole
        changed = f"the job ran over {mpi} and goes on over {over}"
        assert (changed in done.stderr) == (over != mpi) and f"mpirun.{over} -n" in done.stderr
    return whole


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_constants_of_an_mpi_are_those_of_the_other(mpi: str, tmp_path: Path, build: Build) -> None:
    assert len(said_over_both("coordinated_types", mpi, tmp_path, build)) == 2


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_message_that_is_too_long_is_so_after_a_checkpoint(
    mpi: str, tmp_path: Path, build: Build
) -> None:
    said = said_over_both("coordinated_truncated", mpi, tmp_path, build)
    assert said == ["rank 0 sum 1 1 1 1, 0"]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_persistent_requests_are_as_they_were(mpi: str, tmp_path: Path, build: Build) -> None:
    said = said_over_both("coordinated_lasting", mpi, tmp_path, build)
    assert said == ["rank 0 sum 1:2:6 1:3:7 1:1:5 1:0:10 1:1:11 1:2:12 1:3:13"]
