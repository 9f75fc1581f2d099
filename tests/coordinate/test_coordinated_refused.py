"""What a checkpoint without a log cannot bring back is named, and the job goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from queues import need_queues
from running import DEADLINE_S, Running

BuildText = Callable[..., Path]

HEAD = """
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
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
    "number": (
        "struct rlimit most; getrlimit(RLIMIT_NOFILE, &most); most.rlim_cur = 8192;"
        "if (most.rlim_max < 8192) most.rlim_max = 8192;"
        "if (setrlimit(RLIMIT_NOFILE, &most) || fcntl(0, F_DUPFD, 5000) != 5000) return 3;"
        "gate();",
        "it has opened descriptor 5000, and a checkpoint supports those below ",
    ),
    "fifo": (
        'mkfifo("way", 0600); int f = open("way", O_RDWR); write(f, "kept", 4); gate();',
        "/way;",
    ),
    "group": (
        "int s = socket(AF_INET, SOCK_DGRAM, 0);"
        'struct ip_mreq group = {{inet_addr("239.1.2.3")}, {htonl(INADDR_LOOPBACK)}};'
        "if (setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group))) return 3;"
        "gate();",
        "is a socket that has joined a multicast group",
    ),
    "received": (
        "int s[2], f = inotify_init1(0); socketpair(AF_UNIX, SOCK_STREAM, 0, s);"
        "char room[64] = {0}, c = 0; struct iovec v = {&c, 1};"
        "struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room,"
        "                   .msg_controllen = CMSG_LEN(sizeof(f))};"
        "struct cmsghdr *h = CMSG_FIRSTHDR(&m);"
        "h->cmsg_len = CMSG_LEN(sizeof(f)); h->cmsg_level = SOL_SOCKET; h->cmsg_type = SCM_RIGHTS;"
        "*(int *)CMSG_DATA(h) = f; sendmsg(s[0], &m, 0); close(f); dup2(0, f);"
        "recvmsg(s[1], &m, 0); gate();",
        "is anon_inode:inotify",
    ),
    "queue": (
        "struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 8}; char name[32];"
        'snprintf(name, sizeof(name), "/rdb-%d", (int)getpid());'
        "mq_open(name, O_RDWR | O_CREAT, 0600, &a); mq_unlink(name); gate();",
        "is a message queue: /rdb-",
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
    if case == "queue":
        need_queues()
    text, said = CASES[case]
    program = build_text(case, HEAD + text + TAIL)
    one = Running(tmp_path / "home", tmp_path, case, "--", str(program))
    one.until("there")
    refused = one.rdb("checkpoint", case)
    assert refused.returncode == 1 and said in refused.stderr
    assert len(refused.stderr.splitlines()) == 1 and refused.stderr.endswith("the job goes on\n")
    (tmp_path / "gate").touch()
    out, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and out == "went on\n", told


OF_MPI = {
    "partitioned": (
        "MPI_Psend_init(&n, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r); gate();"
        "MPI_Precv_init(&m, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &s);"
        "MPI_Request_free(&r); MPI_Request_free(&s);",
        "it has a partitioned request (MPI_Psend_init, MPI_Precv_init)",
    ),
    "large": (
        "MPI_Datatype t; MPI_Type_contiguous_c(2, MPI_INT, &t); gate(); MPI_Type_free(&t);",
        "it has a datatype that was made with large counts",
    ),
    "tools": (
        "MPI_T_init_thread(MPI_THREAD_SINGLE, &n); gate(); MPI_T_finalize();",
        "it has called MPI_T_init_thread",
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
    out, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and out == "went on\n", told


MADE_AND_FREED = """
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    MPI_Group world, pair;
    int rank, field = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){1 - rank}, &pair);
    for (int i = 0; i < 400; i++) {
        MPI_Comm one, two;
        MPI_Win win;
        MPI_Comm_dup(MPI_COMM_WORLD, &one);
        MPI_Comm_create_group(one, world, 1, &two);
        MPI_Win_create(&field, sizeof(field), 1, MPI_INFO_NULL, one, &win);
        MPI_Win_post(pair, 0, win);
        MPI_Win_start(pair, 0, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        MPI_Win_free(&win);
        MPI_Comm_free(&two);
        MPI_Comm_free(&one);
    }
    puts("there");
    fflush(stdout);
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}
"""


def test_what_was_freed_takes_no_place(tmp_path: Path, build_text: BuildText) -> None:
    """The board has room for the counts of 1000 communicators, windows and pairs of ranks."""
    program = build_text("freed", MADE_AND_FREED, compiler="mpicc")
    one = Running(tmp_path / "home", tmp_path, "freed", "-n", "2", "--", str(program))
    one.until("there")
    taken = one.rdb("checkpoint", "freed")
    assert taken.returncode == 0, taken.stderr
    one.kill()


def test_no_checkpoint_is_taken_in_a_split_collective(
    tmp_path: Path, build_text: BuildText
) -> None:
    """Other operations on the file do not end it."""
    text = """
        MPI_File f;
        char in[8], out[8] = "abcdefg";
        MPI_Init(NULL, NULL);
        MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
        MPI_File_write_all_begin(f, out, 8, MPI_CHAR);
        MPI_File_read_shared(f, in, 8, MPI_CHAR, MPI_STATUS_IGNORE);
        gate();
        MPI_File_write_all_end(f, out, MPI_STATUS_IGNORE);
        MPI_File_close(&f);
        MPI_Finalize();
    """
    program = build_text("split", "#include <mpi.h>\n" + HEAD + text + TAIL, compiler="mpicc")
    one = Running(tmp_path / "home", tmp_path, "split", "-n", "1", "--", str(program))
    one.until("there")
    refused = one.rdb("checkpoint", "split", "--timeout", "3")
    assert refused.returncode == 1 and "could be stopped within 3 s" in refused.stderr
    (tmp_path / "gate").touch()
    out, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and out == "went on\n", told
