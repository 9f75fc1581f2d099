"""Checkpoints without a log of programs with sockets, which go on with the bytes under way."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import DEADLINE_S, Running, sums, sums_after
from test_coordinated_calls import restarted, said_after

BuildText = Callable[..., Path]

ALONE = """
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static void say(const char *what, int fd)
{
    char word[99] = "";
    ssize_t n = recv(fd, word, sizeof(word) - 1, MSG_DONTWAIT);
    printf("%s %zd %s\\n", what, n, n > 0 ? word : "");
}
int main(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int pair[2], gone[2], far = socket(AF_INET, SOCK_STREAM, 0);
    int door = socket(AF_INET, SOCK_STREAM, 0), fresh = socket(AF_INET, SOCK_DGRAM, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    socketpair(AF_UNIX, SOCK_STREAM, 0, gone);
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &fresh, sizeof(fresh));
    bind(door, (void *)&in, sizeof(in));
    listen(door, 4);
    getsockname(door, (void *)&in, &len);
    connect(far, (void *)&in, len);
    int near = accept(door, NULL, NULL);
    write(pair[0], "to one", 6);
    write(pair[1], "and back", 8);
    write(gone[0], "last words", 10);
    close(gone[0]);
    write(far, "over there", 10);
    write(near, "over here", 9);
    shutdown(near, SHUT_WR);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    say("a", pair[1]);
    say("b", pair[0]);
    say("c", gone[1]);
    say("d", gone[1]);
    say("e", near);
    say("f", far);
    say("g", far);
    write(far, "more", 4);
    recv(near, &in, 4, MSG_PEEK);
    say("h", near);
    close(far);
    far = socket(AF_INET, SOCK_STREAM, 0);
    len = sizeof(in);
    getsockname(door, (void *)&in, &len);
    printf("i %d\\n", connect(far, (void *)&in, len));
    close(fresh);
    return 0;
}
"""
SAID = [
    *("a 6 to one", "b 8 and back", "c 10 last words", "d 0 ", "e 10 over there", "f 9 over here"),
    *("g 0 ", "h 4 more", "i 0"),
]

OUTSIDE = """
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    in.sin_port = htons(atoi(argv[1]));
    if (connect(s, (void *)&in, sizeof(in)))
        return 3;
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    return 0;
}
"""


FULL = """
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
enum { BYTES = 30 << 20 };
static int ends[2];
static void *reader(void *arg)
{
    char *have = malloc(BYTES);
    ssize_t got = recv(ends[0], have, 1, MSG_WAITALL);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    got += recv(ends[0], have, BYTES - 1, MSG_WAITALL);
    printf("read %zd\\n", got);
    return arg;
}
int main(int argc, char **argv)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    pthread_t t;
    if (!strcmp(argv[1], "tcp")) {
        int door = socket(AF_INET, SOCK_STREAM, 0);
        bind(door, (void *)&in, len);
        listen(door, 1);
        getsockname(door, (void *)&in, &len);
        ends[1] = socket(AF_INET, SOCK_STREAM, 0);
        connect(ends[1], (void *)&in, len);
        ends[0] = accept(door, NULL, NULL);
    } else if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
        return 3;
    }
    pthread_create(&t, NULL, reader, NULL);
    ssize_t n = send(ends[1], calloc(1, BYTES), BYTES, 0);
    pthread_join(t, NULL);
    printf("wrote %zd\\n", n);
    return 0;
}
"""
FULL_SAID = [f"read {30 << 20}", f"wrote {30 << 20}"]


def test_a_write_into_a_full_socket_goes_on(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("full", FULL, "-pthread")
    one = Running(tmp_path / "home", tmp_path, "full", "--", str(program), "unix")
    assert said_after(one, 2) == FULL_SAID
    assert restarted(one, "full") == FULL_SAID


def test_more_than_a_reader_takes_is_refused_and_goes_on(
    tmp_path: Path, build_text: BuildText
) -> None:
    """What is not with the reader nobody could look at."""
    program = build_text("full", FULL, "-pthread")
    one = Running(tmp_path / "home", tmp_path, "full", "--", str(program), "tcp")
    one.until("there")
    refused = one.rdb("checkpoint", "full")
    assert refused.returncode == 1, refused.stdout
    assert "one of its sockets has unsent bytes that the other end does not take" in refused.stderr
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and said.splitlines() == FULL_SAID, told


def test_sockets_of_a_process_alone_go_on(tmp_path: Path, build_text: BuildText) -> None:
    """Pairs, a connection with itself, one whose other end is closed, and one that listens."""
    program = build_text("alone", ALONE)
    one = Running(tmp_path / "home", tmp_path, "alone", "--", str(program))
    assert said_after(one, 2) == SAID  # what was under way is still there
    assert restarted(one, "alone") == SAID


def test_sockets_between_ranks_go_on(tmp_path: Path, build: Build) -> None:
    program = str(build("mpi/coordinated_sockets.c"))
    one = Running(tmp_path / "home", tmp_path, "ranks", "-n", "2", "--", program, "gate")
    one.until("half")
    whole = sums_after(one, 2)
    assert whole == ["rank 0 all there 1", "rank 1 all there 1"]
    (tmp_path / "gate").unlink()
    again = Running(one.home, tmp_path, "again", restart="ranks")
    again.until_all_run()
    assert sums_after(again, 1) == whole  # a branch's own sockets can be brought back as well
    for name in ("ranks", "again"):
        done = one.rdb("restart", name)
        assert done.returncode == 0, done.stderr
        assert sums(done.stdout) == whole


@pytest.mark.parametrize("listens", [True, False])
def test_a_connection_with_another_process_is_named(
    listens: bool, tmp_path: Path, build_text: BuildText
) -> None:
    program = build_text("outside", OUTSIDE)
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        one = Running(tmp_path / "home", tmp_path, "outside", "--", str(program), str(port))
        one.until("there")
        if listens:
            far, _ = door.accept()
            with far:
                refused = one.rdb("checkpoint", "outside")
        else:
            refused = one.rdb("checkpoint", "outside")
    assert refused.returncode == 1 and "a process outside of the job" in refused.stderr
    (tmp_path / "gate").touch()
    assert deadlines.wait(one.process, DEADLINE_S) == 0


BEGUN = """
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
    int s[2];
    char word[9] = "";
    FILE *f = fopen("data", "w");
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    write(s[0], "abc", 3);
    fprintf(f, "one\\n");
    fflush(f);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    printf("%zd %s\\n", read(s[1], word, 8), word);
    fprintf(f, "two\\n");
    printf("%d %ld\\n", fflush(f), ftell(f));
    return 0;
}
"""


def test_a_recording_from_there_can_be_restarted(tmp_path: Path, build_text: BuildText) -> None:
    """From its first event, with what it began with."""
    program = build_text("begun", BEGUN)
    one = Running(tmp_path / "home", tmp_path, "begun", "--", str(program))
    said = said_after(one)
    assert said == ["0 8", "3 abc"]
    recorded = one.rdb("restart", "begun", "--record", "full", "--name", "recorded")
    assert recorded.returncode == 0 and sorted(recorded.stdout.splitlines()) == said
    again = one.rdb("restart", "recorded", "--at", "1")
    assert again.returncode == 0, again.stderr
    assert sorted(again.stdout.splitlines()) == said
