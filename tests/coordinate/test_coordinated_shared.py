"""Checkpoints without a log of programs with shared memory that nobody else has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from running import DEADLINE_S, Running
from test_coordinated_calls import restarted, said_after

BuildText = Callable[..., Path]

# Several mappings of one object, one without access, and a child that is made later.
SHARES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
enum { PAGE = 4096, PAGES = 64 };
static char *b; /* from its eighth page on */
static char *nameless(const char *kind)
{
    int fd = -1;
    if (!strcmp(kind, "memfd"))
        fd = memfd_create("mine", 0);
    else if (!strcmp(kind, "unlinked")) {
        fd = shm_open("/rdb-test-shared", O_RDWR | O_CREAT | O_EXCL, 0600);
        shm_unlink("/rdb-test-shared");
    }
    if (fd >= 0 && ftruncate(fd, (PAGES - 3) * PAGE)) /* the last pages are not there */
        exit(3);
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                   MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
    b = p + 8 * PAGE;
    if (fd >= 0)
        b = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 8 * PAGE);
    if (fd >= 0)
        close(fd);
    return p;
}
int main(int argc, char **argv)
{
    char *a = nameless(argv[1]);
    if (a == MAP_FAILED || b == MAP_FAILED)
        return 4;
    strcpy(a, "first");
    strcpy(b + 100, "both");
    strcpy(a + 20 * PAGE, "hidden");
    mprotect(a + 20 * PAGE, PAGE, PROT_NONE);
    if (b != a + 8 * PAGE)
        mprotect(a + 8 * PAGE, PAGE, PROT_READ);
    puts("there");
    fflush(stdout);
    for (int i = 0; access("gate", F_OK); i++) {
        a[PAGE] = (char)i;
        usleep(1000);
    }
    strcpy(b + 200, "after");
    mprotect(a + 20 * PAGE, PAGE, PROT_READ);
    pid_t child = fork();
    if (!child) {
        strcpy(a + 2 * PAGE, "by the child");
        a[0] = 'F';
        _exit(strcmp(a + 8 * PAGE + 200, "after") != 0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%s %s %s %s %s %d\\n", a, a + 8 * PAGE + 100, b + 200, a + 20 * PAGE,
           a + 2 * PAGE, status);
    return 0;
}
"""
SAID = ["First both after hidden by the child 0"]


@pytest.mark.parametrize("kind", ["anonymous", "memfd", "unlinked"])
def test_it_is_shared_again(kind: str, tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("shares", SHARES)
    one = Running(tmp_path / "home", tmp_path, kind, "--", str(program), kind)
    assert said_after(one, 2) == SAID
    assert restarted(one, kind) == SAID


def test_a_restart_of_a_restart_and_its_recording(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("shares", SHARES)
    one = Running(tmp_path / "home", tmp_path, "shares", "--", str(program), "anonymous")
    assert said_after(one) == SAID
    (tmp_path / "gate").unlink()
    again = Running(one.home, tmp_path, "again", restart="shares")
    again.until_all_run()
    taken = again.rdb("checkpoint", "again", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(again.process, DEADLINE_S)
    assert said.splitlines() == SAID, told
    assert restarted(again, "again") == SAID
    recorded = one.rdb("restart", "again", "--record", "full", "--name", "recorded")
    assert recorded.returncode == 0 and recorded.stdout.splitlines() == SAID, recorded.stderr
    replayed = one.rdb("replay", "recorded", "--verify")
    assert replayed.returncode == 0, replayed.stderr


# A process that is nobody's child any more has the memory of its grandparent.
GIVES = """
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    enum { RW = PROT_READ | PROT_WRITE };
    volatile int *word = mmap(NULL, 4096, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (!child) {
        if (fork())
            _exit(0);
        setsid();
        *word = 1;
        while (*word == 1)
            usleep(1000);
        *word = 3;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    while (!*word)
        usleep(1000);
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    *word = 2;
    while (*word != 3)
        usleep(1000);
    puts("went on");
    return 0;
}
"""


def test_what_another_process_has_is_refused(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("gives", GIVES)
    one = Running(tmp_path / "home", tmp_path, "gives", "--", str(program))
    one.until("there")
    refused = one.rdb("checkpoint", "gives")
    assert refused.returncode == 1, refused.stdout
    assert "also has its shared memory mapped: anonymous; the job goes on" in refused.stderr
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and said == "went on\n", told
