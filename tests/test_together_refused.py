"""What a checkpoint without a log cannot bring back is named, and the job goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_together import DEADLINE_S, Running

BuildText = Callable[..., Path]

HEAD = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static void gate(void)
{
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
}
int main(void)
{
"""
TAIL = """
    puts("went on");
    return 0;
}
"""
CASES = {
    "fifo": (
        'mkfifo("way", 0600); int f = open("way", O_RDWR); write(f, "kept", 4); gate();',
        "/way;",
    ),
    "child": (
        "int p = fork(); if (!p) for (;;) pause(); gate(); kill(p, 9); wait(NULL);",
        "(child)",
    ),
    "system": (
        'puts("there"); fflush(stdout); system("while [ ! -e gate ]; do :; done");',
        "it has a child process, ",
    ),
    "file": (
        'int f = open("shared", O_RDWR | O_CREAT, 0600); ftruncate(f, 4096);'
        "mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, f, 0); gate();",
        "/shared;",
    ),
    "sysv": (
        "int id = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT); shmat(id, NULL, 0); gate();"
        "shmctl(id, IPC_RMID, NULL);",
        "it has shared memory: /SYSV",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_named(case: str, tmp_path: Path, build_text: BuildText) -> None:
    text, said = CASES[case]
    program = build_text(case, HEAD + text + TAIL)
    one = Running(tmp_path / "home", tmp_path, case, "--", str(program))
    one.until("there")
    refused = one.rdb("checkpoint", case)
    assert refused.returncode == 1 and said in refused.stderr
    assert len(refused.stderr.splitlines()) == 1 and refused.stderr.endswith("the job goes on\n")
    (tmp_path / "gate").touch()
    out, told = one.process.communicate(timeout=DEADLINE_S)
    assert one.process.returncode == 0 and out == "went on\n", told


OF_MPI = {
    "partitioned": (
        "MPI_Psend_init(&n, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r); gate();"
        "MPI_Precv_init(&m, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &s);"
        "MPI_Request_free(&r); MPI_Request_free(&s);",
        "it has a partitioned request (MPI_Psend_init, MPI_Precv_init)",
    ),
    "tools": (
        "MPI_T_init_thread(MPI_THREAD_SINGLE, &n); gate(); MPI_T_finalize();",
        "it has begun with MPI_T",
    ),
}


@pytest.mark.parametrize("case", OF_MPI)
def test_what_mpi_has_is_named(case: str, tmp_path: Path, build_text: BuildText) -> None:
    text, said = OF_MPI[case]
    head = "#include <mpi.h>\n" + HEAD + "int n, m; MPI_Request r, s; MPI_Init(NULL, NULL);"
    program = build_text(case, head + text + "MPI_Finalize();" + TAIL, compiler="mpicc.mpich")
    one = Running(
        tmp_path / "home", tmp_path, case, "-n", "1", "--mpi", "mpich", "--", str(program)
    )
    one.until("there")
    refused = one.rdb("checkpoint", case)
    assert refused.returncode == 1 and said in refused.stderr, refused.stderr
    (tmp_path / "gate").touch()
    out, told = one.process.communicate(timeout=DEADLINE_S)
    assert one.process.returncode == 0 and out == "went on\n", told
