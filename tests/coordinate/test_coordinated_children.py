"""Child processes: a checkpoint without a log waits a little for those that end soon."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deadlines
from running import DEADLINE_S, Running, naps
from test_coordinated_calls import restarted

from rdb.coordinate.board import Board, board_path

_WAIT4 = 61  # of x86-64

BuildText = Callable[..., Path]

HELPED = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(void)
{
    char word[20] = "";
    puts("there");
    fflush(stdout);
    const int rc = system("while [ ! -e gate ]; do :; done; exit 7");
    FILE *p = popen("echo helped", "r");
    fgets(word, sizeof(word), p);
    const int closed = pclose(p);
    printf("%d %d %s", WEXITSTATUS(rc), closed, word);
    return 0;
}
"""


def waits_for_its_child(pid: int) -> bool:
    return Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").startswith(f"{_WAIT4} ")


def test_a_helper_that_ends_soon_is_waited_for(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("helped", HELPED)
    one = Running(tmp_path / "home", tmp_path, "helped", "--", str(program))
    one.until("there")
    pid = Board(board_path(one.home / "helped")).slot(0).pid
    deadlines.wait_for("its child", lambda: waits_for_its_child(pid))
    before = naps(pid)
    asking = subprocess.Popen(
        [sys.executable, "-m", "rdb", "checkpoint", "helped", "--timeout", "60"],
        cwd=tmp_path,
        env={**os.environ, "RDB_HOME": str(one.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # until it has been asked, and waits again
    deadlines.wait_for("the request", lambda: naps(pid) > before or asking.poll() is not None)
    assert asking.poll() is None
    (tmp_path / "gate").touch()  # the helper ends
    said, told = deadlines.communicate(asking, DEADLINE_S)
    assert asking.returncode == 0, told
    assert "rank 0: checkpoint 1" in said
    out, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and out == "7 0 helped\n", told
    assert restarted(one, "helped") == ["7 0 helped"]


DAEMON = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    if (!fork()) {
        if (fork())
            _exit(0);
        setsid();
        const int ends = open("ends", O_CREAT | O_WRONLY, 0600);
        lockf(ends, F_LOCK, 0);
        close(open("locked", O_CREAT | O_WRONLY, 0600));
        while (access("gate", F_OK))
            usleep(1000);
        _exit(0);
    }
    wait(NULL);
    while (access("locked", F_OK))
        usleep(1000);
    puts("there");
    fflush(stdout);
    const int ended = open("ends", O_WRONLY);
    lockf(ended, F_LOCK, 0); /* until the daemon has ended */
    close(ended);
    puts("1");
    fflush(stdout);
    while (access("second", F_OK))
        usleep(1000);
    puts("over");
    return 0;
}
"""


def test_a_daemon_refuses_it_while_it_lives(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("daemon", DAEMON, "-w")
    one = Running(tmp_path / "home", tmp_path, "daemon", "--", str(program))
    one.until("there")
    refused = one.rdb("checkpoint", "daemon")
    assert refused.returncode == 1, refused.stdout
    assert "a process that it has started goes on without its parent, " in refused.stderr
    (tmp_path / "gate").touch()
    one.until("1")
    taken = one.rdb("checkpoint", "daemon", "--timeout", "60")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "second").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert said == "over\n", told
    assert restarted(one, "daemon") == ["over"]
