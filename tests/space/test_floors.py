"""Processes of one rank that share memory take turns: what one stores is in the others' replays."""

from __future__ import annotations

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
@pytest.mark.parametrize("way", ["anon", "memfd", "shm", "sysv", "passed", "exec"])
def test_each_way_to_share(tmp_path: Path, build: Build, way: str, how: str) -> None:
    """Three processes hand on a number, by looking and by semaphores."""
    program = build("shared_ways.c", "-O1")
    native = deadlines.native([program, way, how])
    made = record(tmp_path, program, way, how)
    assert made.result.returncode == 0, made.result.stderr
    assert sorted(made.result.stdout.split("\n")) == sorted(native.stdout.split("\n"))
    places = {path.parent for path in made.rank_dir.rglob("log-*.seg")}
    assert len(places) == (7 if way == "exec" else 4)
    for place in places:
        code, answer = Made(place, made.files, made.result).verify()
        assert (code, answer["ok"]) == (0, True), (place, answer)
        assert not (place / "cautions").exists()


@pytest.mark.parametrize("how", ["spin", "yield", "sem"])
def test_small_pieces_of_much_memory(tmp_path: Path, build: Build, how: str) -> None:
    """Above 16 MiB turns are taken for these only, and the others are named."""
    program = build("shared_ways.c", "-O1")
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
        assert len(told) == 1 and "other processes, since more than 16 MiB are shared" in told[0]


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
    line = [explorer, *keys.split(), *limits.split()]
    done = deadlines.run(line, 3000 if MANY else 300)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) > 20
