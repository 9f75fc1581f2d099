"""Restarts of a process that has executed another program, with what the first one had opened."""

from __future__ import annotations

import random
from pathlib import Path

import deadlines
import pytest
from conftest import run_rdb
from events import events_called
from running import BuildText

from rdb.recording import RankRecording, open_job

# Opens one of each kind, each under a number of its own, and becomes the second program.
FIRST = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
static int to(int fd, int number)
{
	dup2(fd, number);
	close(fd);
	return number;
}
int main(int argc, char **argv)
{
	int pipes[2], pair[2];
	char c[3];
	sigset_t set;
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	struct epoll_event of = {.events = EPOLLIN, .data.u32 = 7};
	(void)argc;
	to(open("in", O_RDONLY), 20);
	read(20, c, 3);
	dup2(20, 21); /* one offset */
	to(open("written", O_RDWR | O_CREAT | O_TRUNC, 0600), 22);
	write(22, "first ", 6);
	to(open("log", O_WRONLY | O_CREAT | O_APPEND, 0600), 23);
	write(23, "first\\n", 6);
	pipe(pipes);
	to(pipes[0], 24), to(pipes[1], 25);
	write(25, "pipe", 4);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	to(pair[0], 26), to(pair[1], 27);
	write(27, "pair", 4);
	to(eventfd(5, 0), 28);
	FILE *unnamed = tmpfile();
	to(fileno(unnamed), 29);
	write(29, "unnamed", 7);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	to(signalfd(-1, &set, 0), 30);
	kill(getpid(), SIGUSR1);
	to(timerfd_create(CLOCK_MONOTONIC, 0), 31);
	timerfd_settime(31, 0, &soon, NULL);
	to(epoll_create1(0), 32);
	epoll_ctl(32, EPOLL_CTL_ADD, 24, &of);
	to(open(".", O_RDONLY | O_DIRECTORY), 33);
	to(open("in", O_RDONLY), 34);
	fcntl(34, F_SETFD, FD_CLOEXEC);
	execv(argv[1], argv + 1);
	return 1;
}
"""

# Some are under other numbers before they are read, and other files have their numbers then.
SECOND = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
static void show(int fd, int bytes)
{
	char text[64] = "";
	long n = read(fd, text, bytes);
	printf("%d: %ld %s\\n", fd, n, n < 0 ? strerror(errno) : text);
}
int main(void)
{
	uint64_t n;
	struct signalfd_siginfo info;
	struct epoll_event of;
	struct stat st;
	for (int round = 0; round < 3; round++) {
		show(20, 2);
		show(21, 2);
		show(24, 1);
		show(26, 1);
		write(22, "round ", 6);
		write(23, "round\\n", 6);
		if (round == 1)
			dup2(24, 40), close(24), dup2(open("in", O_RDONLY), 24), dup2(29, 41), close(29);
	}
	read(28, &n, 8);
	printf("counter %lu\\n", n);
	lseek(41, 2, SEEK_SET);
	show(41, 9);
	read(30, &info, sizeof(info));
	printf("signal %u\\n", info.ssi_signo);
	read(31, &n, 8);
	printf("timer %lu\\n", n);
	n = epoll_wait(32, &of, 1, 0);
	printf("epoll %d %u\\n", (int)n, of.data.u32);
	show(40, 9);
	n = faccessat(33, "in", R_OK, 0);
	printf("directory %d\\n", (int)n);
	show(34, 1);
	fstat(22, &st);
	lseek(22, 0, SEEK_SET);
	show(22, 60);
	fstat(23, &st);
	printf("log %ld\\n", (long)st.st_size);
	return 0;
}
"""


def says(program: RankRecording) -> int:
    """The event of its last write: it says all at its end."""
    places = list(program.index.of_calls(1))
    return program.index.brief(places[-1])[1]


def test_what_an_earlier_program_had_opened_is_kept(build_text: BuildText, tmp_path: Path) -> None:
    """At each event, and of the branch again."""
    home, chosen = tmp_path / "home", random.Random(3)
    programs = build_text("first", FIRST, "-w"), build_text("second", SECOND, "-w")
    (tmp_path / "in").write_text("the text that both read")
    done = run_rdb(home, tmp_path, "run", "--name", "job", "--", *map(str, programs))
    assert done.returncode == 0, done.stderr
    assert "epoll 1 7\n40: 2 pe\ndirectory 0\n34: -1" in done.stdout, done.stdout
    left = (tmp_path / "written").read_text(), (tmp_path / "log").read_text()
    said = says(open_job(home / "job").rank(0))
    for at in (0, said - 1, *chosen.sample(range(1, said - 1), 6)):
        branch = run_rdb(home, tmp_path, "restart", "job", "--at", str(at), "--name", "branch")
        assert (branch.returncode, branch.stdout) == (0, done.stdout), (at, branch.stderr)
        later = chosen.randrange(says(open_job(home / "branch").rank(0)))
        again = run_rdb(home, tmp_path, "restart", "branch", "--at", str(later), "--name", "again")
        assert (again.returncode, again.stdout) == (0, done.stdout), (at, later, again.stderr)
        for one in ("branch", "again"):
            checked = run_rdb(home, tmp_path, "replay", one, "--verify")
            assert checked.returncode == 0, (at, later, checked.stderr)
        run_rdb(home, tmp_path, "rm", "branch", "again")
    assert left == ((tmp_path / "written").read_text(), (tmp_path / "log").read_text())


# Becomes itself again, which shows what is there since before (execve(2)): signals and a timer.
WAITS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	sigset_t set;
	siginfo_t info;
	union sigval value = {.sival_int = 5};
	const struct timespec none = {0};
	const int signals[] = {SIGUSR1, SIGUSR2, SIGCHLD, SIGRTMIN + 3};
	struct itimerval timer = {.it_value.tv_sec = 3000};
	const pid_t self = getpid();
	sigemptyset(&set);
	for (int i = 0; i < 4; i++)
		sigaddset(&set, signals[i]);
	if (strcmp(argv[1], "again")) {
		if (!strcmp(argv[1], "open"))
			open("/dev/null", O_RDONLY);
		sigprocmask(SIG_BLOCK, &set, NULL);
		setitimer(ITIMER_REAL, &timer, NULL);
		kill(self, SIGUSR1);
		sigqueue(self, SIGRTMIN + 3, value);
		value.sival_int++;
		sigqueue(self, SIGRTMIN + 3, value);
		if (!fork()) {
			kill(self, SIGUSR2);
			_exit(0);
		}
		wait(NULL);
		raise(SIGUSR1);
		execl("/proc/self/exe", argv[0], "again", NULL);
	}
	for (int round = 0; round < 5; round++)
		getppid();
	int sig;
	while ((sig = sigtimedwait(&set, &info, &none)) > 0) {
		printf("%d %d %d", sig, info.si_code, info.si_pid == self);
		printf(" %d\\n", sig == SIGRTMIN + 3 ? info.si_int : 0);
	}
	getitimer(ITIMER_REAL, &timer);
	printf("%d\\n", timer.it_value.tv_sec > 1000);
	return argc == 0;
}
"""


@pytest.mark.parametrize("what", ["open", "nothing"])
def test_signals_and_timers_wait_over_an_exec(
    what: str, build_text: BuildText, tmp_path: Path
) -> None:
    """Whether the restart begins with the earlier program or not."""
    home, program = tmp_path / "home", str(build_text("waits", WAITS))
    native = deadlines.run([program, what], 60, cwd=tmp_path)
    done = run_rdb(home, tmp_path, "run", "--name", "job", "--", program, what)
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    assert native.stdout.count("\n") == 7 and native.stdout.endswith("\n1\n")
    asked = events_called(open_job(home / "job").rank(0), "getppid")
    for at in (0, asked[0], asked[-1]):
        for job, name, event in (("job", "branch", at), ("branch", "again", 0)):
            where = ("--at", str(event), "--name", name)
            branch = run_rdb(home, tmp_path, "restart", job, *where)
            assert (branch.returncode, branch.stdout) == (0, native.stdout), (at, branch.stderr)
        run_rdb(home, tmp_path, "rm", "branch", "again")


RANK = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	long x, sum = 0, all;
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	FILE *in = fdopen(9, "r");
	setvbuf(in, NULL, _IOFBF, 16);
	while (fscanf(in, "%ld", &x) == 1) {
		sum += x * (rank + 1);
		MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		printf("%ld of %ld\\n", sum, all);
		fflush(stdout);
		fprintf(stderr, "%ld\\n", x);
	}
	MPI_Finalize();
	return 0;
}
"""


@pytest.mark.parametrize("over", ["mpich", "openmpi"])
@pytest.mark.parametrize("recorded", ["mpich", "openmpi"])
@pytest.mark.parametrize("how", ["exec", "child"])
def test_a_script_gives_each_rank_its_files(
    how: str, recorded: str, over: str, build_text: BuildText, tmp_path: Path
) -> None:
    """No process has the launcher's 1 and 2 open then.  A script that waits for the program goes on
    with it.
    """
    program, script = build_text("rank", RANK, compiler=f"mpicc.{recorded}"), tmp_path / "script"
    (tmp_path / "in").write_text("".join(f"{x}\n" for x in range(1, 21)))
    script.write_text(
        "#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\nexec 9<in >out.$rank 2>>err.$rank\n"
        + (f"exec {program}\n" if how == "exec" else f"{program}\necho the end $?\n")
    )
    script.chmod(0o755)
    home = tmp_path / "home"
    run = run_rdb(
        *(home, tmp_path, "run", "-n", "2", "--name", "job", "--mpi", recorded, "--", str(script))
    )
    assert run.returncode == 0, run.stderr
    names = [f"{one}.{rank}" for one in ("out", "err") for rank in (0, 1)]
    left = {name: (tmp_path / name).read_text() for name in names}
    assert left["out.1"].endswith("420 of 630\n" + ("the end 0\n" if how == "child" else ""))
    last = open_job(home / "job").rank(1).last_event
    for at in (1, last // 2, last - 3):
        where = ("--rank", "1", "--at", str(at), "--name", "branch", "--mpi", over)
        branch = run_rdb(home, tmp_path, "restart", "job", *where)
        assert branch.returncode == 0, (at, branch.stderr)
        for rank in (0, 1):
            copies = (home / "branch" / f"rank-{rank}").glob("file-*")
            assert {one.name[7:]: one.read_text() for one in copies} == {
                name: text for name, text in left.items() if name.endswith(str(rank))
            }, at
        run_rdb(home, tmp_path, "rm", "branch")
