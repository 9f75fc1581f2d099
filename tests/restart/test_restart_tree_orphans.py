"""rdb restart of processes that have outlived their parents."""

from __future__ import annotations

from pathlib import Path

from trees import Recorded

DAEMON = """
import os
done, told = os.pipe(), os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.read(done[0], 1)
        with open("daemon", "w") as file:
            leader = os.getsid(0)
            print("pid", os.getpid() == leader, "group", os.getpgrp() == leader, file=file)
        os.write(told[1], b"later\\n")
        os._exit(0)
    os._exit(3)
status = os.wait()[1]
os.getppid()
os.getppid()
os.write(done[1], b"x")
os.read(told[0], 1)
print("status", status >> 8, os.read(told[0], 9).decode().strip(), open("daemon").read().strip())
"""


def test_a_daemon(tmp_path: Path) -> None:
    """Its parent and the session's leader have ended; it is a process of the branch."""
    script = tmp_path / "daemon.py"
    script.write_text(DAEMON)
    program = Recorded(tmp_path, "/usr/bin/python3", str(script))
    assert program.said == "status 3 ater pid False group True\n"
    first, second = program.events("getppid")[-2:]
    for at in (first, second):
        branch = program.restart(at)
        assert set(branch.process(0).children) == {2}
    program.restart(second + 1)  # it was told to go on: it may have ended
    refused = program.rdb("restart", branch.name, "--at", "1", "--plan")
    assert refused.returncode == 1 and "whose parent had ended" in refused.stderr


def test_background_jobs_of_shells_that_are_gone(tmp_path: Path) -> None:
    line = (
        "(sh -c 'sleep 1; echo late > late; true' &); (nohup sleep 0.5 > /dev/null 2>&1 &); "
        "seq 1 99 | tee >(grep -c 7 > sevens) | tail -n 1; echo two; "
        "until [ -s late ] && [ -s sevens ]; do sleep 0.1; done; cat late sevens; echo end"
    )
    shell = Recorded(tmp_path, "bash", "-c", line)
    assert shell.said == "99\ntwo\nlate\n19\nend\n"
    forks = shell.events("clone", "fork", "vfork")
    for at in (forks[2] + 1, forks[5] + 1, forks[6] + 1):
        shell.restart(at)


def test_a_child_of_the_program_before(tmp_path: Path) -> None:
    """The recording of its first process is that of the program that came last."""
    line = "(sleep 0.3; echo late) & exec sh -c 'echo a; sleep 0.6; echo b; true'"
    shell = Recorded(tmp_path, "bash", "-c", line)
    assert shell.said == "a\nlate\nb\n"
    refused = shell.rdb("restart", "job", "--at", "1", "--plan")
    assert (
        refused.returncode == 1
        and "of its earlier program, before execve, is still alive" in refused.stderr
    )
