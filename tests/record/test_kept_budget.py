"""--kept-budget: how much all processes of a job keep of what they overwrite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import Rdb
from events import events_called

from rdb.recording import open_job

BuildText = Callable[..., Path]

# Each rank, or child, cuts a file that was there; one that cannot be opened costs nothing.
SOURCE = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int cut(const char *name)
{
	int fd = open(name, O_WRONLY | O_TRUNC);
	return fd < 0 || write(fd, "new", 3) != 3 || close(fd);
}
int main(void)
{
	int status = 0;
	getppid();
	for (int i = 0; i < 4; i++)
		if (open("first", O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 || errno != EEXIST)
			return 1;
	if (cut("first"))
		return 2;
	getppid();
	if (!fork())
		exit(cut("second"));
	wait(&status);
	return status ? 3 : cut("third");
}
"""


def test_what_all_processes_keep_is_counted(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path
) -> None:
    for name in ("first", "second", "third"):
        (tmp_path / name).write_bytes(name[:1].encode() * 40_000)
    program = build_text("keeps", SOURCE)
    told = rdb("run", "--kept-budget", "100KB", "--name", "told", "--", program)
    assert told.returncode == 0, told.stderr
    assert f"{tmp_path}/third: --kept-budget is spent" in told.stderr
    assert f"{tmp_path}/second: --kept-budget is spent" not in told.stderr
    kept = [path.stat().st_size for path in (rdb_home / "told").rglob("kept-[0-9]*")]
    assert kept == [40_000, 40_000]

    early = str(events_called(open_job("told").rank(0), "getppid")[0])
    refused = rdb("restart", "told", "--at", early, "--name", "branch")
    assert refused.returncode == 125, refused.stderr
    assert f"{tmp_path}/third: rank 0 wrote to it after the cut" in refused.stderr
    assert not (rdb_home / "branch").exists()
    shown = rdb("restart", "told", "--plan", "--at", early)
    assert shown.returncode == 0 and f"{tmp_path}/third: rank 0 wrote to it" in shown.stderr

    last = str(open_job("told").rank(0).last_event)
    assert rdb("restart", "told", "--at", last, "--name", "branch").returncode == 0


def test_enough_is_enough(rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path) -> None:
    for name in ("first", "second", "third"):
        (tmp_path / name).write_bytes(name[:1].encode() * 40_000)
    told = rdb("run", "--kept-budget=1MB", "--name", "told", "--", build_text("keeps", SOURCE))
    assert (told.returncode, "spent" in told.stderr) == (0, False), told.stderr
    assert int.from_bytes((rdb_home / "told" / "kept-bytes").read_bytes(), "little") == 120_000
    early = str(events_called(open_job("told").rank(0), "getppid")[0])
    assert rdb("restart", "told", "--at", early, "--name", "branch").returncode == 0


def test_such_a_budget_there_is_not(rdb: Rdb, build_text: BuildText, rdb_home: Path) -> None:
    done = rdb("run", "--kept-budget", "many", "--", build_text("keeps", SOURCE))
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "rdb: --kept-budget many: write 500MB or 2GB",
    )
    assert not list(rdb_home.glob("keeps-*"))


RANKS = """
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char name[32];
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sprintf(name, "of-%d", rank);
	int fd = open(name, O_WRONLY | O_TRUNC);
	close(fd);
	MPI_Finalize();
	return fd < 0;
}
"""


def test_ranks_share_it(rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path) -> None:
    for rank in range(2):
        (tmp_path / f"of-{rank}").write_bytes(bytes(range(100)) * 600)
    program = build_text("ranks", RANKS, compiler="mpicc")
    told = rdb("run", "-n", "2", "--kept-budget", "100KB", "--name", "told", "--", program)
    assert told.returncode == 0, told.stderr
    assert told.stderr.count("--kept-budget is spent") == 1
    assert len(list((rdb_home / "told").rglob("kept-[0-9]*"))) == 1
