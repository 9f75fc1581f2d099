"""The console on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from subprocess import CompletedProcess

import deadlines
import pexpect  # type: ignore[import-untyped]
from deadlines import Deadline, wait_for
from openmpi import ANY_EXIT_CODE

from rdb.session.processes import Process, descendants

DEADLINE_S = 120
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


def environment(home: Path) -> dict[str, str]:
    # Without PROMPT_TOOLKIT_NO_CPR the terminal would be asked where its cursor is: ours is deaf.
    return {
        **os.environ,
        "RDB_HOME": str(home),
        "TERM": "xterm",
        "PROMPT_TOOLKIT_NO_CPR": "1",
        # or mpirun ends the others when a rank exits with 3, sometimes before they are done; its
        # own exit code is 0 then
        **ANY_EXIT_CODE,
    }


def rdb(home: Path, *arguments: str | Path, given: str = "") -> CompletedProcess[str]:
    """The rdb command, without a terminal."""
    command = [sys.executable, "-m", "rdb", *map(str, arguments)]
    return deadlines.run(command, DEADLINE_S, given, env=environment(home))


# A child's close() signals it, if it has not ended, and fails where that takes a tenth of a second.


def ended(child: pexpect.spawn) -> int | None:
    """Reads what a child says to its end: its exit code; None: a signal ended it."""
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    code: int | None = child.exitstatus
    return code


def hang_up(child: pexpect.spawn) -> None:
    """Ends a child as a terminal does that is closed."""
    child.kill(signal.SIGHUP)
    try:
        wait_for("the end of what was hung up", lambda: not child.isalive())
    finally:
        child.kill(signal.SIGKILL)  # if it is still there
        child.close()


class Terminal:
    def __init__(self, home: Path, job: str, columns: int = 160) -> None:
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "rdb", "attach", job],
            env=environment(home),
            encoding="utf-8",
            dimensions=(50, columns),
            timeout=DEADLINE_S,
        )

    def until(self, text: str) -> str:
        """Waits for TEXT; what was shown before it comes back without escape sequences."""
        deadline = Deadline(DEADLINE_S)
        while self.child.expect_exact([text, pexpect.TIMEOUT], timeout=deadline.next_s()):
            if deadline.over():
                self.child.expect_exact(text, timeout=0)  # says what came instead
        lines = ESCAPES.sub("", self.child.before).splitlines()
        return "\n".join(line.rstrip() for line in lines)  # tables are filled up with blanks

    def type(self, line: str, prompt: str) -> str:
        """Types a line and waits for the prompt that follows its answer."""
        self.start(line)
        return self.until(prompt)

    def start(self, line: str) -> None:
        """Types a line and does not wait for its answer."""
        # The line editor shows the old prompt again with the line; the answer comes after both.
        self.child.sendline(line)
        self.until("\r\n")

    def leave(self) -> None:
        self.child.sendcontrol("d")
        assert ended(self.child) == 0

    def below(self) -> list[Process]:
        return descendants(self.child.pid)
