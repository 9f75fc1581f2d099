"""rdb restart of processes that wake each other by what they have inherited."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from conftest import Build
from trees import Recorded

BuildText = Callable[..., Path]
MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))


def test_counters(tmp_path: Path, build: Build) -> None:
    """What was taken from an eventfd had been added by then; a branch is restarted as well."""
    program = Recorded(tmp_path, str(build("live_tree_events.c")), "counters")
    assert program.said.endswith("10, status 3\n")
    asked = program.events("getppid")
    for at in (asked[1], asked[2] + 1):
        branch = program.restart(at)
    recording = branch.rank(0)
    (first, *_) = (
        event
        for event in range(1, recording.last_event)
        if recording.describe(event).startswith("getppid")
    )
    program.restart(first, branch.name)
    for at in random.Random(5).sample(range(1, program.job.rank(0).last_event), min(MANY, 20)):
        program.restart(at)


def test_signals_that_are_read(tmp_path: Path, build: Build) -> None:
    """Whether the child has read one says its log; it comes to the descriptor of a branch, too."""
    program = Recorded(tmp_path, str(build("live_tree_events.c")), "signals")
    assert program.said.endswith("4, status 4\n")
    for at in program.events("getppid")[:2]:
        program.restart(at)
    sent = program.events("kill")[2]
    refused = program.rdb("restart", "job", "--at", str(sent), "--plan")
    if refused.returncode:  # it had not read it when it came back
        assert "SIGUSR1 from process 0 is not delivered yet" in refused.stderr


LOOKS = """
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    struct sockaddr_un at = {AF_UNIX, "nobody"};
    int up[2];
    char c;
    int looks = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(looks, (struct sockaddr *)&at, sizeof(at)) == 0 || close(looks) || pipe(up))
        return 1;
    if (!fork())
        return write(up[1], "x", 1) != 1;
    getppid();
    if (read(up[0], &c, 1) != 1 || wait(0) < 0 || write(1, "done\\n", 5) != 5)
        return 2;
    return 0;
}
"""


def test_a_daemon_that_did_not_run(tmp_path: Path, build_text: BuildText) -> None:
    """As libc looks for nscd: a connection that was not made is none."""
    program = Recorded(tmp_path, str(build_text("looks", LOOKS)))
    program.restart(program.events("getppid")[0])


NAMED_PIPE = """
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
    int fd = mkfifo("fifo", 0600) ? -1 : open("fifo", O_RDWR);
    if (fd < 0 || write(fd, "x", 1) != 1)
        return 1;
    getppid();
    close(fd);
    getppid();
    if (unlink("fifo"))
        return 2;
    return write(1, "done\\n", 5) != 5;
}
"""


def test_a_named_pipe_is_refused(tmp_path: Path, build_text: BuildText) -> None:
    """Nobody knows what is in it; once it is closed it does not matter, and its name is there."""
    named = Recorded(tmp_path, str(build_text("named", NAMED_PIPE)))
    opened, closed = named.events("getppid")
    done = named.rdb("restart", "job", "--at", str(opened))
    assert done.returncode == 125
    assert f"its descriptor 3 is a FIFO (named pipe): {tmp_path}/fifo" in done.stderr
    named.restart(closed)
