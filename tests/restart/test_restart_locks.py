"""rdb restart of programs that have locks on files, by flock(2) and fcntl(2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trees import Recorded

BuildText = Callable[..., Path]

LOCKS = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
static int taken(int file, int from, int len)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = len};
    return !fcntl(file, F_SETLK, &range);
}
int main(void)
{
    int whole = open("whole", O_RDWR | O_CREAT, 0600), part = open("part", O_RDWR | O_CREAT, 0600);
    struct flock hole = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 20, .l_len = 5};
    if (flock(whole, LOCK_EX) || !taken(part, 10, 30) || fcntl(part, F_SETLK, &hole))
        return 1;
    for (int i = 0; i < 3; i++) {
        getppid();
        if (!fork()) {
            int other = open("whole", O_RDWR);
            int got = !flock(other, LOCK_SH | LOCK_NB);
            printf("%d %d %d\\n", got, taken(part, 20, 5), taken(part, 25, 1));
            fflush(stdout);
            _exit(0);
        }
        wait(0);
    }
    close(dup(part));
    if (flock(whole, LOCK_UN))
        return 1;
    getppid();
    if (!fork()) {
        int other = open("whole", O_RDWR);
        _exit(!flock(other, LOCK_SH | LOCK_NB) + 2 * taken(part, 25, 1));
    }
    int status;
    wait(&status);
    printf("%d\\n", WEXITSTATUS(status));
    return 0;
}
"""


def test_locks_are_taken_again(tmp_path: Path, build_text: BuildText) -> None:
    """Of a file as a whole and of a part of one, with a hole; in a branch of the branch, too."""
    program = Recorded(tmp_path, str(build_text("locks", LOCKS)))
    assert program.said == "0 1 0\n" * 3 + "3\n"
    asked = program.events("getppid")
    first = program.restart(asked[0])
    program.restart(asked[2])
    program.restart(asked[3])
    program.restart(0, first.name)


SHELL = """
exec 9>lock
flock 9
for i in 1 2; do flock -n lock echo got || echo held; done
(flock -u 9); flock -n lock echo got || echo held
"""


def test_a_lock_that_a_command_took_for_its_shell(tmp_path: Path) -> None:
    """It has ended; so has the one that gave it up."""
    shell = Recorded(tmp_path, "sh", "-c", SHELL)
    assert shell.said == "held\nheld\ngot\n"
    forks = shell.events("clone", "fork", "vfork")
    for at in (forks[1] - 1, forks[-1] - 1):
        shell.restart(at)
