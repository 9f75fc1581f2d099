"""rdb restart of processes that share open files by one description: offsets, timers, epolls; and
of pipes that they open by the number of another descriptor."""

from __future__ import annotations

from pathlib import Path

from conftest import Build
from trees import Recorded

SCRIPT = """
seq 1 9 > digits
for i in 1 2 3; do
  (echo first $i; sed -n ${i}p digits; echo last) > file$i &
done
wait
{ read one; (read two; echo $one $two); read three; echo $three; } < digits > pairs
cat file1 file2 file3 pairs
"""

WROTE_BESIDE = """
import os, sys
out = os.open("beside", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
ends = [os.pipe() for _ in range(2)]
for one in range(2):
    if not os.fork():
        for turn in range(200):
            os.write(out, b"%d %d\\n" % (one, turn))
            if turn == 100:
                os.write(ends[one][1], b"x")
        os._exit(0)
for one in range(2):
    os.read(ends[one][0], 1)
os.getppid()
for one in range(2):
    os.wait()
print(*sorted(open("beside").read().splitlines()))
"""


def test_offsets_timers_and_epolls(tmp_path: Path, build: Build) -> None:
    program = Recorded(tmp_path, str(build("live_tree_moves.c")))
    assert program.said.endswith("status 3, at 12 and 78\n"), program.said
    asked = program.events("getppid")
    for at in (*asked, asked[1] + 3):
        program.restart(at)


def test_a_branch_of_those(tmp_path: Path, build: Build) -> None:
    program = Recorded(tmp_path, str(build("live_tree_moves.c")))
    branch = program.restart(program.events("getppid")[0])
    recording = branch.rank(0)
    (at, *_) = (
        event
        for event in range(1, recording.last_event)
        if recording.describe(event).startswith("getppid")
    )
    program.restart(at, branch.name)


def test_a_script_that_all_its_shells_read(tmp_path: Path) -> None:
    """The script is a file, too, which the shell and its children have open by one descriptor."""
    (tmp_path / "script").write_text(SCRIPT)
    shell = Recorded(tmp_path, "bash", str(tmp_path / "script"))
    assert shell.said == "".join(f"first {i}\n{i}\nlast\n" for i in (1, 2, 3)) + "1 2\n3\n"
    forks = shell.events("clone", "fork", "vfork")
    for at in (forks[2] + 1, forks[3] + 1, forks[4] - 1, forks[4] + 1):
        shell.restart(at)


def test_two_that_write_at_once(tmp_path: Path) -> None:
    """Which was first is in the file, if all that is there was written by the cut; else another
    event must be chosen."""
    script = tmp_path / "script.py"
    script.write_text(WROTE_BESIDE)
    refused = 0
    while True:
        (folder := tmp_path / str(refused)).mkdir()
        program = Recorded(folder, "/usr/bin/python3", str(script))
        at = program.events("getppid")[0]
        done = program.tried(at)
        if done.returncode == 0:
            break
        assert (
            "moved its file offset at once" in done.stderr and "choose another event" in done.stderr
        )
        assert done.returncode == 125
        refused += 1
        assert refused < 20
    program.restart(at)


def test_process_substitution(tmp_path: Path) -> None:
    """bash opens its pipes by /dev/fd, with flags of their own."""
    line = (
        "while read l; do echo got $l; sleep 0.01; done < <(seq 1 5); "
        "seq 1 99 | tee >(grep -c 7 > sevens) | tail -n 1; "
        "cat <(echo one; sleep 0.1; echo two) - < /dev/null; wait; cat sevens; echo end"
    )
    shell = Recorded(tmp_path, "bash", "-c", line)
    assert shell.said == "".join(f"got {i}\n" for i in range(1, 6)) + "99\none\ntwo\n19\nend\n"
    forks = shell.events("clone", "fork", "vfork")
    for at in (forks[1] - 1, forks[1] + 1):
        shell.restart(at)


def test_a_fifo_that_nobody_has_open(tmp_path: Path) -> None:
    """The job has deleted it since; in one of the cuts a process waits for another to open it."""
    line = (
        "mkfifo p; (sleep 0.5; seq 1 1000 > p) & while read l; do s=$((s+l)); done < p; "
        "echo $s; rm p; echo end"
    )
    shell = Recorded(tmp_path, "bash", "-c", line)
    assert shell.said == "500500\nend\n" and not (tmp_path / "p").exists()
    forks = shell.events("clone", "fork", "vfork")
    for at in (forks[1] - 1, forks[1] + 1):
        shell.restart(at)
        assert not (tmp_path / "p").exists()
