"""rdb restart of what a process has asked for itself: orphans, limits, a signal at its parent's
end; and of the numbers that its children know it by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import Build
from trees import Recorded

BuildText = Callable[..., Path]


def test_orphans_and_limits(tmp_path: Path, build: Build) -> None:
    """Before there are any, with one, and in a branch of the branch."""
    program = Recorded(tmp_path, str(build("live_reaper.c")))
    assert program.said == "child 3\norphan 1 5 6\n"
    asked = program.events("getppid")
    first = program.restart(asked[0])
    for at in asked[1:]:
        program.restart(at)
    program.restart(1, first.name)


TELLS = """
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int told;
static void tell(int signal)
{
    told += signal == SIGUSR1;
}
int main(void)
{
    const struct sigaction by = {.sa_handler = tell, .sa_flags = SA_RESTART};
    const int self = getpid();
    char number[16];
    sigaction(SIGUSR1, &by, 0);
    snprintf(number, sizeof(number), "%d", self);
    for (int i = 0; i < 3; i++) {
        int status;
        getppid();
        if (!fork()) {
            if (i == 1)
                execl("/bin/kill", "kill", "-USR1", number, (char *)0);
            return kill(self, SIGUSR1) ? 4 : 3;
        }
        if (wait(&status) < 0)
            return 1;
        printf("%d times, status %x\\n", told, status);
        fflush(stdout);
    }
    return 0;
}
"""


def test_a_child_signals_who_had_another_number(tmp_path: Path, build_text: BuildText) -> None:
    """Its parent was restarted alone, once and again, and goes by another number now; so does a
    program know it that the child becomes."""
    program = Recorded(tmp_path, str(build_text("tells", TELLS)))
    assert program.said.endswith("3 times, status 300\n")
    asked = program.events("getppid")
    first = program.restart(asked[0])
    program.restart(asked[2])
    recording = first.rank(0)
    (again, *_) = [
        event
        for event in range(1, recording.last_event)
        if recording.describe(event).startswith("getppid")
    ]
    program.restart(again, first.name)


KEPT = """
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sembuf more = {0, 1, 0};
    getppid();
    int id = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    if (id < 0 || (argc > 1 && !fork()))
        return semop(id, &more, 1);
    if (argc > 1)
        wait(0);
    getppid();
    printf("%d\\n", semctl(id, 0, GETVAL));
    if (semctl(id, 0, IPC_RMID))
        return 1;
    getppid();
    puts("end");
    return argv == 0;
}
"""


def test_semaphores_of_the_kernel(tmp_path: Path, build_text: BuildText) -> None:
    """They are not as they were, which is said."""
    program = str(build_text("kept", KEPT))
    for name, *more in (("alone",), ("tree", "x")):
        (tmp_path / name).mkdir()
        kept = Recorded(tmp_path / name, program, *more)
        before, there, gone = kept.events("getppid")
        kept.restart(before)
        refused = kept.rdb("restart", "job", "--at", str(there), "--plan")
        assert refused.returncode == 1 and "it has semaphores of System V" in refused.stderr
        kept.restart(gone)
