"""rdb restart of processes that talk with each other over sockets."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Build
from trees import Recorded

from rdb.recording import open_job

BuildText = Callable[..., Path]
MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory, build: Build) -> dict[str, Recorded]:
    program = str(build("live_tree_sockets.c"))
    return {
        how: Recorded(tmp_path_factory.mktemp(how), program, how) for how in ("pair", "unix", "tcp")
    }


def test_a_pair(talks: dict[str, Recorded]) -> None:
    """With what was under way; when both have ended what they said; and when one has ended."""
    pair = talks["pair"]
    assert pair.said.endswith("status 10\n")
    asked = pair.events("getppid")
    for at in (asked[1], asked[-1]):
        pair.restart(at)


@pytest.mark.parametrize("how", ["unix", "tcp"])
def test_a_connection(talks: dict[str, Recorded], how: str) -> None:
    """One that nobody had accepted; one that a grandchild has inherited; and one of the past."""
    connection = talks[how]
    assert connection.said.endswith("status 10\n")
    for at in connection.events("getppid")[:2]:
        connection.restart(at)


@pytest.mark.parametrize("how", ["pair", "unix", "tcp"])
def test_a_branch_of_that(talks: dict[str, Recorded], how: str) -> None:
    """And a branch of that one, and of that, at random: all come to what the first would have."""
    one, chosen = talks[how], random.Random(how)
    for at in one.events("getppid")[:2]:
        name = one.restart(at).name
        for _ in range(3):
            last = open_job(one.home / name).rank(0).last_event
            name = one.restart(chosen.randint(0, last - 1), name).name


TO_OTHERS = """
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char c;
    int fd = socket(AF_INET, SOCK_STREAM, 0), up[2];
    at.sin_port = htons((unsigned short)atoi(argv[argc - 1]));
    if (pipe(up) || connect(fd, (struct sockaddr *)&at, sizeof(at)))
        return 1;
    if (!fork()) {
        close(up[1]);
        return read(up[0], &c, 1) != 0;
    }
    getppid();
    return write(1, "done\\n", 5) != 5;
}
"""


def test_one_to_somebody_else(tmp_path: Path, build_text: BuildText) -> None:
    program = str(build_text("to_others", TO_OTHERS))
    with socket.create_server(("127.0.0.1", 0)) as other:
        outside = Recorded(tmp_path, program, str(other.getsockname()[1]))
    (at,) = outside.events("getppid")
    refused = outside.rdb("restart", "job", "--at", str(at), "--plan")
    assert refused.returncode == 1
    assert "descriptor 3 is a socket whose other end is a process that does not" in refused.stderr


def test_random_cuts(talks: dict[str, Recorded]) -> None:
    chosen = random.Random(7)
    for one in talks.values():
        for at in chosen.sample(range(1, one.job.rank(0).last_event), min(MANY, 20)):
            one.restart(at)


def test_a_port_that_the_program_has_asked_for(talks: dict[str, Recorded]) -> None:
    """The kernel chose it; nobody listens at it yet."""
    listens = talks["tcp"].events("listen")[0]
    talks["tcp"].restart(listens - 1)
