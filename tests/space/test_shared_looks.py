"""When a process looked at the memory that it shares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import Build, Rdb

from rdb.recording import open_job

PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { MOST = 1 << 17 };
static struct shared {
	volatile uint64_t n, stop, at_ns[MOST]; /* after each n was stored */
	char much[8 << 20];
} *shared;
static uint64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}
int main(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(shared, 1, sizeof(*shared));
	shared->n = shared->stop = 0;
	if (!fork()) {
		for (uint64_t v = 1; v < MOST && !shared->stop; v++) {
			shared->n = v;
			shared->at_ns[v] = now();
			for (volatile int i = 0; i < 2000; i++)
				;
		}
		_exit(0);
	}
	for (uint64_t seen = 0, last = 0; seen < 20 && last < MOST - 1;) {
		syscall(SYS_getppid);
		seen += shared->n != last;
		last = shared->n;
	}
	shared->stop = 1;
	wait(NULL);
	printf("%p", (void *)&shared->n);
	for (uint64_t v = 1; v <= shared->n && shared->at_ns[v]; v++)
		printf(" %lu", shared->at_ns[v]);
	return 0;
}
"""
GETPPID = 110


def test_what_was_stored_by_then_was_seen(rdb: Rdb, build_text: Callable[..., Path]) -> None:
    """The look takes milliseconds here, while the other process goes on (it is not recorded)."""
    program = build_text("looks", PROGRAM, "-O1")
    done = rdb("run", "--name", "job", "--no-children", "--", program)
    assert done.returncode == 0, done.stderr
    address, *stored_ns = done.stdout.split()
    at, seen = int(address, 16), 0
    for record in open_job("job").rank(0).records():
        if not record.kind.is_event or record.nr != GETPPID:
            continue
        for chunk in record.chunks:
            if chunk.addr <= at < chunk.addr + len(chunk.data):
                place = at - chunk.addr
                number = int.from_bytes(chunk.data[place : place + 8], "little")
                if number < len(stored_ns):  # the next one had not been stored before the look
                    assert record.at_ns <= int(stored_ns[number])
                    seen += 1
    assert seen >= 5


def test_the_last_stores_of_children_that_have_ended(rdb: Rdb, build: Build) -> None:
    """It may come after its page was compared, and the child end before the comparison does."""
    program = build("shared_last_store.c", "-O1")
    done = rdb("run", "--name", "last", "--", program)
    assert (done.returncode, done.stdout) == (0, "22222222\n"), done.stderr
    done = rdb("replay", "last", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
