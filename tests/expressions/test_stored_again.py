"""origin: an instruction that stores the value that is there already is the last store of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Build, Rdb, run_rdb
from gdbdriver import in_console

STORED = ["plain", "strings", "filled", "added", "swapped", "whole", "set", "copied"]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_last_store(tmp_path: Path, build: Build, level: str) -> None:
    program = build("stored_again.c", level, "-w")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    asked = [line for one in STORED for line in (f"origin values.{one}", "undo")]
    more = ["last values.plain", "undo", "last --stores values.plain", "undo"]
    others = ["origin read_only", "undo", "origin often", "undo", "origin unchanged"]
    said = in_console(tmp_path, "job", [*asked, *more, *others])
    for name, one in zip(STORED, said[::2], strict=False):
        assert re.search(rf"^0 .* {name} \(\) at ", one.splitlines()[1]), f"{name}: {one}"
    assert " first (v=" in said[16] and " plain (v=" in said[18], said[16] + said[18]
    read_only, often, unchanged = said[20].splitlines(), said[22].splitlines(), said[24]
    assert " first () at " in read_only[1] and "later" not in said[20], said[20]
    assert " first () at " in often[1], said[22]
    assert often[1].endswith("  copied, or an equal value was stored later"), said[22]
    assert " main () at " in unchanged and "computed" in unchanged, unchanged


ZEROS = """
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>
static int received[4], waited[4], found[4];
static void cleared(void)
{
  for (int i = 0; i < 4; i++)
    received[i] = waited[i] = found[i] = 0;
}
int main(void)
{
  int rank, ends[2], zeros[4];
  MPI_Request request;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cleared();
  for (int i = 0; i < 4; i++)
    zeros[i] = 0; // made
  MPI_Sendrecv(zeros, 3, MPI_INT, !rank, 0, received, 4, MPI_INT, !rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Irecv(waited, 4, MPI_INT, !rank, 1, MPI_COMM_WORLD, &request);
  MPI_Send(zeros, 3, MPI_INT, !rank, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  pipe(ends);
  write(ends[1], zeros, 12);
  readv(ends[0], &(struct iovec){found, 16}, 1);
  MPI_Finalize();
}
"""


@pytest.mark.parametrize("contents", [True, False], ids=["contents", "order"])
def test_an_event_that_brings_what_is_there(
    rdb: Rdb, rdb_home: Path, build_text: Callable[..., Path], contents: bool
) -> None:
    program = build_text("zeros", ZEROS, "-O0", "-w", compiler="mpicc")
    how = [] if contents else ["--record=order"]
    assert rdb("run", "--name", "job", *how, "-n", "2", "--", program).returncode == 0
    assert contents or rdb("expand", "job").returncode == 0
    came = [f"origin {name}[{n}]" for name in ("received", "waited", "found") for n in (1, 3)]
    lines = ["focus 0", *(line for one in came for line in (one, "focus 0", "goto end"))]
    said = in_console(rdb_home, "job", lines)[1::3]
    for brought, kept in ((said[0], said[1]), (said[2], said[3])):
        assert re.search(r"\n0 .* received from rank 1", brought), brought
        assert re.search(r"\n1 .* main \(\) at zeros.c:\d+ +computed", brought), brought
        assert " cleared () at " in kept and "from rank" not in kept, kept
    assert "readv(" in said[4] and " cleared () at " in said[5], said[4:]
