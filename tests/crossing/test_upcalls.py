"""Going on from code that is rdb's own: behind functions of the program that the MPI library calls,
where a rank stands that was killed before the call returned; in the vDSO."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import run_rdb
from cutting import starts

from rdb.recording import open_job
from rdb.recording.log.record import Kind

PROGRAM = r"""
#include <mpi.h>

static long seen;

static void combine(void *in, void *inout, int *len, MPI_Datatype *type)
{
	for (int i = 0; i < *len; i++)
		((long *)inout)[i] += 3 * ((long *)in)[i];
	seen++;
}

int main(int argc, char **argv)
{
	long one = 1, sum = 2;
	MPI_Op op;

	MPI_Init(&argc, &argv);
	MPI_Op_create(combine, 0, &op);
	MPI_Reduce_local(&one, &sum, 1, MPI_LONG, op);
	return MPI_Finalize() || sum != 5;
}
"""


@pytest.fixture
def killed_after_it(
    tmp_path: Path, rdb_home: Path, build_text: Callable[..., Path]
) -> tuple[Path, Path]:
    """Its log ends with the record of the call by the library."""
    program = build_text("combine", PROGRAM, compiler="mpicc")
    done = run_rdb(rdb_home, tmp_path, "run", "-n", "1", "--name", "job", "--", str(program))
    assert done.returncode == 0, done.stderr
    rank = open_job(str(rdb_home / "job")).rank(0)
    (called,) = rank.index.of_kind(Kind.UPCALL)
    (segment,) = rank.path.glob("log-*.seg")
    data = segment.read_bytes()
    end = starts(data)[called + 1]
    segment.write_bytes(data[:end] + bytes(len(data) - end))
    assert open_job(str(rdb_home / "job")).rank(0).last_event == rank.index.record(called).event
    return rdb_home, tmp_path


def test_killed_after_an_upcall(killed_after_it: tuple[Path, Path]) -> None:
    home, folder = killed_after_it
    (folder / "script").write_text(
        "where\nprint seen\ngoto START\nbreak combine\ncontinue\nbacktrace\nprint seen\n"
        "goto END\nreverse-continue\nprint seen\n"
        "delete\nnext\nnext\nreverse-next\nprint seen\n"
        "goto END\nreverse-step\nprint seen\nreverse-next\nreverse-next\nprint seen\n"
        "goto END\nstep\nnext\nfinish\nuntil\nwhere\n"
    )
    shown = run_rdb(home, folder, "attach", "job", "-x", "script")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "Cannot find bounds" not in shown.stdout and "not within" not in shown.stdout
    assert "main () at combine.c:20, inside" in shown.stdout
    tree, _, rest = shown.stdout.partition("goto START")
    assert "main () at combine.c:20" in tree and "MPI_Reduce_local" in tree and "$1 = 1" in tree
    before, _, ends = rest.partition("goto END")
    assert "combine (in=" in before and "MPI_Reduce_local ()" in before
    assert "main (argc=1" in before and "$2 = 0" in before
    stepped, _, back = ends.partition("delete")
    assert "$3 = 0" in stepped
    inside, back, forward = back.split("goto END")
    assert inside.count("combine () at combine.c:9, event 5") == 2 and "$4 = 0" in inside
    # Backwards over the function that the library called, to the program's own call.
    assert "inside PMPI_Reduce_local, event 4" in back and "$5 = 0" in back
    assert "main () at combine.c:20, event 4" in back and "main () at combine.c:19" in back
    assert forward.count("rdb: end of the recording") == 4
    assert "main () at combine.c:20" in forward.partition("where")[2]


CLOCK = r"""
#include <time.h>

int main(void)
{
	struct timespec at;

	for (int i = 0; i < 3; i++)
		clock_gettime(CLOCK_MONOTONIC, &at);
	return 0;
}
"""


def test_stepping_from_inside_the_vdso(clock_read: tuple[Path, Path, int]) -> None:
    home, folder, event = clock_read
    ways = ("step", "next", "reverse-step", "reverse-next", "finish")
    script = "".join(f"goto {event}\n{way}\n" for way in ways)
    (folder / "script").write_text(f"goto {event}\nbacktrace\n{script}")
    shown = run_rdb(home, folder, "attach", "job", "-x", "script").stdout
    assert re.search(r"#0 .* in __vdso_clock_gettime \(\)\n#1 .* in \S*clock_gettime ", shown), (
        shown
    )
    assert re.search(r"#2 .* in main \(\)", shown), shown
    for way in ways:
        _, _, then = shown.partition(f"> {way}\n")
        then = then.partition(f"> goto {event}\n")[0]
        assert "error" not in then and "main () at clock.c:9, inside" in then, shown
        assert f"event {event - way.startswith('reverse')}\n" in then, shown


@pytest.fixture(scope="module")
def clock_read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int]:
    """The second reading's event."""
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(CLOCK)
    subprocess.run(["gcc", "-g", "-o", "clock", "clock.c"], cwd=folder, check=True)
    home = folder / "home"
    done = run_rdb(home, folder, "run", "--name", "job", "--", "./clock")
    assert done.returncode == 0, done.stderr
    index = open_job(str(home / "job")).rank(0).index
    return home, folder, index.record(index.of_kind(Kind.HYPERCALL)[1]).event
