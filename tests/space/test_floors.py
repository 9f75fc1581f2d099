"""Processes of one rank that share memory take turns: what one stores is in the others' replays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import deadlines
import pytest
from alone import Made, record
from conftest import Build, Rdb, replay_agrees
from running import BuildText

INTERPOSER = Path(__file__).parents[2] / "interposer"
MANY = "RDB_TEST_ORACLES" in os.environ


@pytest.mark.parametrize("how", ["spin", "yield", "sem"])
@pytest.mark.parametrize(
    "way", ["anon", "memfd", "shm", "sysv", "passed", "exec", "file", "file-exec"]
)
def test_each_way_to_share(tmp_path: Path, build: Build, way: str, how: str) -> None:
    """Three processes hand on a number, by looking and by semaphores."""
    program = build("shared_ways.c", "-O1")
    file = (tmp_path / "shared",) if way.startswith("file") else ()
    native = deadlines.native([program, way, how, *file])
    made = record(tmp_path, program, way, how, *file)
    assert made.result.returncode == 0, made.result.stderr
    assert sorted(made.result.stdout.split("\n")) == sorted(native.stdout.split("\n"))
    places = {path.parent for path in made.rank_dir.rglob("log-*.seg")}
    assert len(places) == (7 if "exec" in way else 4)
    for place in places:
        code, answer = Made(place, made.files, made.result).verify()
        assert (code, answer["ok"]) == (0, True), (place, answer)
        assert not (place / "cautions").exists()


@pytest.mark.parametrize("how", ["spin", "yield", "sem"])
def test_small_pieces_of_much_memory(tmp_path: Path, build: Build, how: str) -> None:
    """Above 1 GiB turns are taken for these only, and the others are named."""
    program = build("shared_ways.c", "-O1", "-DROUNDS=5")
    native = deadlines.native([program, "large", how])
    made = record(tmp_path, program, "large", how)
    assert made.result.returncode == 0, made.result.stderr
    assert sorted(made.result.stdout.split("\n")) == sorted(native.stdout.split("\n"))
    places = {path.parent for path in made.rank_dir.rglob("log-*.seg")}
    assert len(places) == 4
    for place in places:
        code, answer = Made(place, made.files, made.result).verify()
        assert (code, answer["ok"]) == (0, True), (place, answer)
        told = (place / "cautions").read_text().splitlines()
        assert len(told) == 1 and "other processes, since more than 1 GiB is shared" in told[0]


def test_a_file_too_large_for_turns_is_named(rdb: Rdb, tmp_path: Path, build: Build) -> None:
    program = build("sparse_shared.c", "-O1", "-DSIZE=(1100l<<20)")
    done = rdb("run", "--name", "it", "--", program, "file", tmp_path / "file")
    assert done.returncode == 0, done.stderr
    told = "shared memory (a file) may be written by other processes, since more than 1 GiB"
    assert told in done.stderr


LOCKED = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
struct box { pthread_mutex_t lock; volatile long n, begun; };
int main(int argc, char **argv)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct box *b = mmap(NULL, sizeof(*b), rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const int sig = atoi(argv[1]);
	pthread_mutexattr_t how;
	pthread_mutexattr_init(&how);
	pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&b->lock, &how);
	const pid_t lost = fork();
	if (!lost) {
		b->begun = 1;
		for (volatile long n = 0;; n++)
			; /* it has the floor, or waits for it, at any time */
	}
	while (!b->begun)
		;
	kill(lost, sig);
	for (int k = 0; k < 2; k++)
		if (!fork()) {
			for (int i = 0; i < 300; i++) {
				pthread_mutex_lock(&b->lock);
				b->n++;
				pthread_mutex_unlock(&b->lock);
			}
			_exit(0);
		}
	int status, ends = 0;
	while (ends < 2)
		ends += waitpid(-1, &status, 0) != lost;
	kill(lost, SIGKILL);
	printf("%ld\\n", b->n);
	return 0;
}
"""


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_who_has_the_floor_is_killed_or_stopped(
    rdb: Rdb, build_text: BuildText, sig: signal.Signals
) -> None:
    """The others go on: at once where it is dead, after ten seconds where it is stopped."""
    program = build_text("locked", LOCKED, "-O1", "-pthread")
    done = rdb("run", "--name", "it", "--", program, str(int(sig)))
    assert (done.returncode, done.stdout) == (0, "600\n"), done.stderr
    replay_agrees(rdb, "it")


STOPPED = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile long *n = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t child = fork();
	int status;
	for (setpgid(0, 0); !child;)
		++*n;
	for (int round = 1; round <= 5 && argc == 3; round++) {
		while (*n < round * 1000)
			usleep(1000);
		kill(atoi(argv[2]) * child, atoi(argv[1]));
		if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
			return 1;
		const long then = *n;
		usleep(1000);
		printf("%d: stands still %d\\n", round, *n == then);
		kill(child, SIGCONT);
	}
	return kill(child, SIGKILL);
}
"""


@pytest.mark.parametrize(
    "sig", [signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU], ids=lambda s: s.name
)
@pytest.mark.parametrize("group", [False, True], ids=["one", "group"])
def test_one_that_is_stopped_has_no_floor(
    tmp_path: Path, build_text: BuildText, sig: signal.Signals, group: bool
) -> None:
    program = build_text("stopped", STOPPED, "-O1")
    made = record(tmp_path, program, str(int(sig)), "-1" if group else "1")
    assert made.result.returncode == 0, made.result
    assert made.result.stdout == "".join(f"{n}: stands still 1\n" for n in range(1, 6))
    assert not list(made.rank_dir.rglob("cautions"))


IMAGES = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
enum { SIZE = 64 << 20, ROUNDS = 20 };
static volatile char *fresh(int fd) /* who has the memory is looked at anew when it is mapped */
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
static void pass(int fd, int socket)
{
	char byte = 'x', control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control};
	m.msg_controllen = sizeof(control);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(socket, &m, 0);
}
int main(void)
{
	int pair[2], fd = memfd_create("shared", 0);
	unsigned *big = malloc(SIZE), x = 1;
	ftruncate(fd, 4096);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	fresh(fd);
	pass(fd, pair[0]); /* now any process may have it */
	const int child = !fork();
	for (int r = 0; r < ROUNDS; r++) {
		for (unsigned i = child; i < SIZE / sizeof(*big) && !child; i++)
			big[i] = x = x * 1664525 + 1013904223;
		++*fresh(fd);
		usleep(child ? 100000 : 1000);
	}
	return child ? 0 : wait(NULL) < 0;
}
"""


def test_who_writes_an_image_is_no_outsider(rdb: Rdb, build_text: BuildText) -> None:
    """It has the memory meanwhile, but stores nothing there."""
    program = build_text("images", IMAGES, "-O1", "-w")
    done = rdb("run", "--name", "it", "--checkpoint-every", "2events", "--", program)
    assert done.returncode == 0, done.stderr
    assert "may not replay" not in done.stderr
    ranks = json.loads(rdb("info", "it", "--json").stdout)["ranks"]
    assert ranks[0]["checkpoints"] > 2


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("floors") / "explored"
    source = Path(__file__).with_name("floors_explored.c")
    line = ["gcc", "-std=gnu17", "-mfsgsbase", "-O1", f"-I{INTERPOSER}", str(source), "-o", program]
    subprocess.run(line, check=True)
    return program


@pytest.mark.parametrize(
    ("keys", "limits"),
    [
        ("a a", "2 0 0"),
        ("a a", "1 1 0"),
        ("a a", "1 0 1"),
        ("ab ba", "1 1 0"),
        ("ab bc ca", "1 0 0"),
        ("a a a", "1 0 0"),
        *(
            [
                ("a a", "3 0 0"),
                ("a a", "2 1 1"),
                ("ab ba", "2 1 0"),
                ("ab bc ca", "2 0 0"),
                ("ab bc ca", "1 1 0"),
                ("a a a", "1 1 0"),
            ]
            if MANY
            else []
        ),
    ],
)
def test_every_order_of_steps(explorer: Path, keys: str, limits: str) -> None:
    """RDB_TEST_ORACLES=N (`make test-oracles`) also explores more switches, kills and time-outs."""
    line = [explorer, *keys.split(), *limits.split(), "0"]
    done = deadlines.run(line, 3000 if MANY else 300)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) > 20


@pytest.mark.parametrize("keys", ["b bc c", "ab bc ca", "b abc ac", "a ab ab"])
@pytest.mark.parametrize("kills", ["0", "1"])
def test_orders_of_many_switches(explorer: Path, keys: str, kills: str) -> None:
    """By chance: some mistakes need more switches than all orders can be tried with."""
    walks = 1_000_000 if MANY else 5_000
    line = [explorer, *keys.split(), "999", kills, "10", str(walks)]
    done = deadlines.run(line, 3000 if MANY else 300)
    assert (done.returncode, done.stdout) == (0, f"{walks}\n")
