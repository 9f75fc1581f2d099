"""Files that one rank writes and another reads: a branch's ranks have one copy of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import Rdb
from events import events_called

from rdb.recording import open_job

BuildText = Callable[..., Path]

# Rank 0 writes over a file that it has open, and makes another anew; rank 1 reads them by their
# names, and the first by a descriptor that it has had for long.
SOURCE = r"""
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int rank, fd = -1, early = -1;
	char seen[5] = "....";
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		fd = open("state", O_RDWR | O_CREAT | O_TRUNC, 0666);
		if (write(fd, "-", 1) != 1)
			return 1;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		early = open("state", O_RDONLY);
	for (char round = '0'; round < '6'; round++) {
		if (rank == 0) {
			FILE *left = fopen("left", "w");
			if (pwrite(fd, &round, 1, 0) != 1)
				return 1;
			fputc(round, left);
			fclose(left);
			getppid();
		}
		MPI_Barrier(MPI_COMM_WORLD);
		getppid();
		MPI_Barrier(MPI_COMM_WORLD); /* else rank 1 may print before rank 0 asks */
		if (rank == 1) {
			const int state = open("state", O_RDONLY), left = open("left", O_RDONLY);
			if (pread(state, seen, 1, 0) != 1 || pread(left, seen + 1, 1, 0) != 1)
				return 1;
			if (pread(early, seen + 2, 1, 0) != 1)
				return 1;
			close(state);
			close(left);
			seen[3] = round;
			printf("%s\n", seen);
			fflush(stdout);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
"""
WHOLE = "".join(f"{round_}{round_}{round_}{round_}\n" for round_ in range(6))


def test_a_rank_reads_what_another_had_written_by_the_cut(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path
) -> None:
    program = build_text("given", SOURCE, compiler="mpicc")
    told = rdb("run", "-n", "2", "--name", "told", "--", program)
    assert (told.returncode, told.stdout) == (0, WHOLE), told.stderr
    asked = events_called(open_job("told").rank(0), "getppid")
    for number, round_ in ((2, 1), (5, 2), (9, 4)):  # before the barrier, or after it
        name = f"branch-{number}"
        _goes_on(rdb, "told", ("--at", str(asked[number])), name, WHOLE[5 * round_ :])
        later = {one.name.split("-", 1)[1] for one in (rdb_home / name / "later").iterdir()}
        assert later == {"state", "left"}
    again = events_called(open_job("branch-2").rank(0), "getppid")
    _goes_on(rdb, "branch-2", ("--at", str(again[3])), "second", WHOLE[15:])
    assert (tmp_path / "state").read_text() + (tmp_path / "left").read_text() == "55"


def _goes_on(rdb: Rdb, job: str, at: tuple[str, str], name: str, printed: str) -> None:
    done = rdb("restart", job, "--rank", "0", *at, "--name", name)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
    assert rdb("replay", name).returncode == 0
