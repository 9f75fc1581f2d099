"""Descriptors at a checkpoint without a log: which share a file, and options of sockets."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import DEADLINE_S, BuildText, Running, sums, sums_after

PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>
int main(void)
{
    uint64_t two = 2, got = 0;
    int e = eventfd(3, EFD_NONBLOCK), same = dup(e), other = eventfd(3, EFD_NONBLOCK);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    write(same, &two, sizeof(two));
    read(e, &got, sizeof(got));
    printf("%d", (int)got);
    read(other, &got, sizeof(got));
    printf(" %d\\n", (int)got);
    return 0;
}
"""


OPTIONS = """
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
static const int options[][3] = {
    {IPPROTO_TCP, TCP_KEEPIDLE, 77}, {IPPROTO_TCP, TCP_KEEPINTVL, 7}, {IPPROTO_TCP, TCP_KEEPCNT, 3},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 5000}, {IPPROTO_TCP, TCP_CORK, 1}, {IPPROTO_IP, IP_TOS, 16},
    {IPPROTO_IP, IP_TTL, 9}, {SOL_SOCKET, SO_RCVLOWAT, 4}, {SOL_SOCKET, SO_TIMESTAMP, 1},
};
enum { N = sizeof(options) / sizeof(*options) };
int main(void)
{
    int s = socket(AF_INET, SOCK_STREAM, 0), value = 0;
    socklen_t len = sizeof(value);
    for (int i = 0; i < N; i++)
        if (setsockopt(s, options[i][0], options[i][1], &options[i][2], sizeof(int)))
            return 2;
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    for (int i = 0; i < N; i++) {
        getsockopt(s, options[i][0], options[i][1], &value, &len);
        if (value != options[i][2])
            printf("option %d of level %d: %d\\n", options[i][1], options[i][0], value);
    }
    puts("all");
    return 0;
}
"""


ATTRIBUTES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
static void show(int fd)
{
    struct stat st, named;
    char value[8] = "";
    fgetxattr(fd, "user.rdb", value, sizeof(value) - 1);
    if (fstat(fd, &st) || stat("file", &named))
        return;
    printf("%o %o %u %u %ld.%09ld %s\\n", st.st_mode, named.st_mode, st.st_uid, st.st_gid,
           (long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, value);
    fflush(stdout);
}
int main(void)
{
    const struct timespec times[2] = {{1000, 1}, {2000, 2}};
    int fd = open("file", O_CREAT | O_WRONLY, 0600);
    write(fd, "x", 1);
    fchmod(fd, 0604);
    fchown(fd, getuid(), getgid());
    fsetxattr(fd, "user.rdb", "had", 3, 0);
    futimens(fd, times);
    show(fd);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    show(fd);
    return 0;
}
"""


@pytest.mark.parametrize("place", ["copy", "in-place"])
def test_attributes_of_an_open_file(place: str, tmp_path: Path, build_text: BuildText) -> None:
    job = Running(tmp_path / "home", tmp_path, "job", "--", str(build_text("job", ATTRIBUTES)))
    assert job.process.stdout is not None
    had = job.process.stdout.readline()
    job.until("there")
    assert job.rdb("checkpoint", "job", "--timeout", "90").returncode == 0
    job.kill()
    (tmp_path / "gate").touch()
    done = job.rdb("restart", "job", *(["--in-place"] if place == "in-place" else []))
    assert (done.returncode, done.stdout) == (0, had), done.stderr


def test_options_of_a_socket(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("options", OPTIONS)
    one = Running(tmp_path / "home", tmp_path, "options", "--", str(program))
    one.until("there")
    taken = one.rdb("checkpoint", "options", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert (one.process.returncode, said) == (0, "all\n"), told
    again = one.rdb("restart", "options", "--at", "ckpt:1")
    assert (again.returncode, again.stdout) == (0, "all\n"), again.stderr


@pytest.mark.parametrize("under", ["", "no_kcmp.c"])
def test_what_dup_has_made(under: str, tmp_path: Path, build: Build, build_text: BuildText) -> None:
    """Also where kcmp(2) is not allowed."""
    program = build_text("shares", PROGRAM)
    before = (str(build(under)),) if under else ()
    one = Running(tmp_path / "home", tmp_path, "shares", "--", str(program), before=before)
    one.until("there")
    taken = one.rdb("checkpoint", "shares", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert (one.process.returncode, said) == (0, "5 3\n"), told
    again = one.rdb("restart", "shares", "--at", "ckpt:1")
    assert (again.returncode, again.stdout) == (0, "5 3\n"), again.stderr


# Keeps what the launcher has given it under other numbers, as shells do: 1, and all others, which
# mean nothing to it, before its own 1 is a file.
KEEPS = """
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, kept = 0;
    struct stat st;
    for (int fd = 3; fd < 60; fd++)
        if (!fstat(fd, &st) && S_ISSOCK(st.st_mode))
            kept += fcntl(fd, F_DUPFD, 100) >= 0;
    dup2(1, 90);
    close(1);
    open("said", O_WRONLY | O_CREAT | O_APPEND, 0600);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dprintf(90, "there %d\\n", kept);
    while (access("gate", F_OK))
        usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    dprintf(90, "rank %d\\n", rank);
    puts("to the file");
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_what_the_launcher_gave_under_other_numbers(
    mpi: str, tmp_path: Path, build_text: BuildText
) -> None:
    program = build_text("keeps", KEEPS, compiler=f"mpicc.{mpi}")
    one = Running(tmp_path / "home", tmp_path, "keeps", "--mpi", mpi, "-n", "2", "--", str(program))
    one.until("there")
    assert sums_after(one, 1) == ["rank 0", "rank 1"]
    again = one.rdb("restart", "keeps", "--at", "ckpt:1")
    assert (again.returncode, sums(again.stdout)) == (0, ["rank 0", "rank 1"]), again.stderr
    assert (tmp_path / "said").read_text() == "to the file\n" * 2
