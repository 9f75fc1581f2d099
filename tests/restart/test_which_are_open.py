"""What a restart knows of descriptors from the calls that close and duplicate them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Rdb

from rdb.live.sockets import ends_of
from rdb.live.world import World
from rdb.recording import RankRecording, open_job
from rdb.recording.log.record import NEVER

BuildText = Callable[..., Path]

RANGE = """
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    return open(argv[0], O_RDONLY) < 0 || syscall(SYS_close_range, 3, ~0U, argc > 1 ? 4 : 0);
}
"""

CONNECTED = """
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(to);
    int l = socket(AF_INET, SOCK_STREAM, 0), a = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(l, (void *)&to, size) || listen(l, 1) || getsockname(l, (void *)&to, &size))
        return 1;
    int b = connect(a, (void *)&to, size) ? -1 : accept(l, 0, 0);
"""

OVER = CONNECTED + "return dup2(a, a) != a || dup2(b, a) != a; }"

MANY = """
    char bytes[7];
    struct iovec parts[] = {{bytes, 3}, {bytes, 4}};
    struct mmsghdr two[] = {{{.msg_iov = parts, .msg_iovlen = 1}},
                            {{.msg_iov = parts + 1, .msg_iovlen = 1}}};
    if (sendmmsg(a, two, 2, 0) != 2 || shutdown(a, SHUT_WR))
        return 2;
    if (recvmmsg(b, two, 2, MSG_WAITALL, NULL) != 2)
        return 3;
    return recvmmsg(b, two, 1, 0, NULL) != 1 || two[0].msg_len;
}
"""


def _recorded(rdb: Rdb, *line: str | Path) -> RankRecording:
    done = rdb("run", "--name", "job", "--", *line)
    assert done.returncode == 0, done.stderr
    return open_job("job").rank(0)


@pytest.mark.parametrize("cloexec", [False, True])
def test_close_range_closes_unless_it_only_marks(
    rdb: Rdb, build_text: BuildText, cloexec: bool
) -> None:
    """With CLOSE_RANGE_CLOEXEC all stays open until execve(2)."""
    recording = _recorded(rdb, build_text("range", RANGE), *["-"] * cloexec)
    world = World()
    for place in recording.index.of_calls(257, 436):
        world.add(recording.index.record(place))
    assert bool(world.open) is cloexec


def test_dup2_closes_the_connection_that_had_the_number(rdb: Rdb, build_text: BuildText) -> None:
    recording = _recorded(rdb, build_text("over", OVER))
    dups = [recording.index.record(place).event for place in recording.index.of_calls(33)]
    connected, accepted = ends_of(recording)
    assert connected.closed == dups[1]
    assert accepted.closed == NEVER


def test_messages_that_one_call_sends_or_receives(rdb: Rdb, build_text: BuildText) -> None:
    recording = _recorded(rdb, build_text("many", CONNECTED + MANY))
    sent, received, end = (
        recording.index.record(place).event for place in recording.index.of_calls(307, 299)
    )
    connected, accepted = ends_of(recording)
    assert connected.writes == [(sent, 7)]
    assert accepted.reads == [(received, 7), (end, 7)]
    assert accepted.eof == end
