"""Without a recording clocks are read the short way, which still hears signals and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running
from test_coordinated_calls import restarted, said_after

BuildText = Callable[..., Path]

# Nothing but clocks between two ticks of a timer.
SPINS = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t ticks;
static void tick(int sig) { ticks++; }
static long long now(clockid_t clock)
{
    struct timespec ts;
    if (clock_gettime(clock, &ts))
        exit(3);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}
static void *spin(void *arg)
{
    long long last = now(CLOCK_MONOTONIC), at;
    for (int seen = ticks;; seen = ticks) {
        while (ticks == seen) {
            if ((at = now(CLOCK_MONOTONIC)) < last || now(CLOCK_REALTIME) < last)
                exit(4);
            last = at;
        }
        if (!access("gate", F_OK))
            return arg;
    }
}
int main(int argc, char **argv)
{
    const int threads = !strcmp(argv[1], "threads");
    struct itimerval every = {{0, 20000}, {0, 20000}};
    struct timespec none;
    pthread_t t;
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &every, NULL);
    if (threads)
        pthread_create(&t, NULL, spin, NULL);
    puts("there");
    fflush(stdout);
    spin(NULL);
    if (threads)
        pthread_join(t, NULL);
    printf("spun %d\\n", clock_gettime(12345, &none));
    return 0;
}
"""


@pytest.mark.parametrize("how", ["alone", "threads"])
def test_who_does_nothing_but_read_clocks(how: str, tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("spins", SPINS, "-pthread")
    one = Running(tmp_path / "home", tmp_path, how, "--", str(program), how)
    assert said_after(one, 3) == ["spun -1"]
    assert restarted(one, how) == ["spun -1"]
