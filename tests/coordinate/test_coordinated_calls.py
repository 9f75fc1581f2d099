"""Checkpoints without a log: what a program has asked of the kernel is so after a restart, too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from running import DEADLINE_S, Running

BuildText = Callable[..., Path]

PINNED = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
static int asked;
static void say(const char *who)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    const int nice = getpriority(PRIO_PROCESS, 0);
    printf("%s %d %d %d\\n", who, CPU_COUNT(&set), CPU_ISSET(asked, &set), nice);
}
static void *other(void *arg)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(asked, &one);
    if (sched_setaffinity(0, sizeof(one), &one) || setpriority(PRIO_PROCESS, 0, 5))
        exit(3);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    say("other");
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t t;
    asked = atoi(argv[1]);
    pthread_create(&t, NULL, other, NULL);
    pthread_join(t, NULL);
    say("first");
    return 0;
}
"""

WRITES = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
enum { BYTES = 300000 };
static int ends[2];
static void *reader(void *arg)
{
    static unsigned char have[BYTES];
    size_t got = 0;
    unsigned sum = 0;
    ssize_t n;
    char some[100];
    if (read(ends[0], have, 1) != 1)
        exit(3);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    for (got = 1; got < BYTES && (n = read(ends[0], have + got, BYTES - got)) > 0;)
        got += n;
    for (size_t i = 0; i < BYTES; i++)
        sum = sum * 31 + have[i];
    snprintf(some, sizeof(some), "read %zu, sum %u", got, sum);
    puts(some);
    return arg;
}
int main(int argc, char **argv)
{
    static unsigned char bytes[BYTES];
    struct iovec parts[] = {{bytes, 1000}, {bytes + 1000, 99000}, {bytes + 100000, BYTES - 100000}};
    pthread_t t;
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = i * 7 + i / 251;
    if (pipe(ends))
        return 4;
    pthread_create(&t, NULL, reader, NULL);
    const int whole = strcmp(argv[1], "writev");
    ssize_t n = whole ? write(ends[1], bytes, BYTES) : writev(ends[1], parts, 3);
    printf("wrote %zd\\n", n);
    pthread_join(t, NULL);
    return 0;
}
"""


def said_after(one: Running, checkpoints: int = 1) -> list[str]:
    one.until("there")
    for _ in range(checkpoints):
        taken = one.rdb("checkpoint", one.name, "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
    (one.folder / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    return sorted(said.splitlines())


def restarted(one: Running, name: str, code: int = 0) -> list[str]:
    done = one.rdb("restart", name)
    assert done.returncode == code, done.stderr
    return sorted(done.stdout.splitlines())


def test_processors_and_nice_values_are_those_asked_for(
    tmp_path: Path, build_text: BuildText
) -> None:
    """Of the thread that asked, and of no other."""
    there = sorted(os.sched_getaffinity(0))
    program = build_text("pinned", PINNED, "-pthread")
    one = Running(tmp_path / "home", tmp_path, "pinned", "--", str(program), str(there[-1]))
    said = said_after(one)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    assert said == [f"first {len(there)} 1 {nice}", "other 1 1 5"]
    assert restarted(one, "pinned") == said


@pytest.mark.parametrize("call", ["write", "writev"])
def test_a_write_that_a_checkpoint_interrupts_is_whole(
    call: str, tmp_path: Path, build_text: BuildText
) -> None:
    """Nothing of it is written twice in a restart, in which it goes on from where it was."""
    program = build_text("writes", WRITES, "-pthread")
    one = Running(tmp_path / "home", tmp_path, call, "--", str(program), call)
    said = said_after(one, 2)
    assert said[1] == "wrote 300000" and said[0].startswith("read 300000, sum ")
    assert restarted(one, call) == said
