"""A real GDB with the rdb extension, driven over its machine interface (MI), with deadlines.

with Gdb("job", rank=0, home=path) as gdb:
    gdb.run("break main")
    gdb.run("continue")
    gdb.expect_at("ring.c:31")
    assert gdb.value("n") == "3"
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import deadlines
from deadlines import Deadline
from pygdbmi.gdbmiparser import parse_response

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "gdb_scripts" / "rdb.py"
DEADLINE_S = 300.0
QUIET = "handle all nostop noprint pass"
# A function of GDB's in Python that raises what GDB does not expect.
RAISING = """
import gdb
class _Below(gdb.Function):
    def invoke(self, value, limit):
        if int(value) >= int(limit):
            raise ValueError(f"{int(value)} is too high")
        return 1
_Below("below")
"""


class GdbError(Exception):
    """GDB answered a command by an error."""


class Gdb:
    """One GDB on one rank of a recording; without a job a GDB that has opened nothing."""

    def __init__(
        self,
        job: str | Path | None = None,
        rank: int | str = 0,
        home: Path | None = None,
        executable: str | Path | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._deadline_s = deadline_s
        self._token = 0
        self._unread = b""
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        if home is not None:
            environment["RDB_HOME"] = str(home)
        environment["RDB_EXECUTABLE"] = str(executable or Path(sys.executable).parent / "rdb")
        self._process = subprocess.Popen(
            ["gdb", "-nx", "-q", "--interpreter=mi3", "-x", str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            for setting in ("pagination off", "confirm off", "width 0"):
                self.run(f"set {setting}")
            if job is not None:
                self.opened = self.run(f"rdb-open {job} {rank}")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Gdb:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends GDB, and with it the server and its replicas."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if self._process.poll() is None:
            try:
                self._process.stdin.write(b"-gdb-exit\n")
                self._process.stdin.flush()
                self._process.wait(DEADLINE_S)
            except BrokenPipeError:
                pass  # it has ended meanwhile
            finally:
                self._process.kill()
                self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    # Commands.

    def run(self, command: str) -> str:
        """Runs a command as typed at GDB's prompt until it, and the program, have stopped."""
        quoted = command.replace("\\", "\\\\").replace('"', '\\"')
        return self.mi(f'-interpreter-exec console "{quoted}"')[0]

    def start(self, command: str) -> None:
        """Sends a command without waiting for its end; `finish` does."""
        quoted = command.replace("\\", "\\\\").replace('"', '\\"')
        self._send(f'-interpreter-exec console "{quoted}"')

    def finish(self) -> str:
        return self._collect()[0]

    def run_until_log(self, text: str) -> str:
        """Waits until a started command has written that, to the log stream or as its text: what
        it wrote."""
        until = Deadline(self._deadline_s)
        while True:
            record = parse_response(self._line(until))
            if record["type"] in ("log", "console") and text in record["payload"]:
                return str(record["payload"])
            if record["type"] == "result" and record["token"] == self._token:
                raise AssertionError(f"the command ended before it wrote {text!r}")

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal would send it."""
        self._process.send_signal(2)

    def fails(self, command: str) -> str:
        """The error message of a command that must fail."""
        try:
            text = self.run(command)
        except GdbError as error:
            return str(error)
        raise AssertionError(f"{command!r} did not fail; it printed {text!r}")

    def mi(self, command: str) -> tuple[str, dict[str, Any]]:
        """Text and payload of an MI command."""
        self._send(command)
        return self._collect()

    def _send(self, command: str) -> None:
        assert self._process.stdin is not None
        self._token += 1
        self._process.stdin.write(f"{self._token}{command}\n".encode())
        self._process.stdin.flush()

    def _collect(self) -> tuple[str, dict[str, Any]]:
        until = Deadline(self._deadline_s)
        text: list[str] = []
        payload: dict[str, Any] = {}
        running = answered = False
        while True:
            line = self._line(until)
            record = parse_response(line)
            if record["type"] in ("console", "target"):
                text.append(record["payload"])
            elif record["type"] == "notify" and record["message"] == "stopped":
                running = False
            elif record["type"] == "notify" and record["message"] == "running":
                running = True
            elif record["type"] == "result" and record["token"] == self._token:
                if record["message"] == "error":
                    raise GdbError(record["payload"]["msg"])
                answered = True
                running = running or record["message"] == "running"
                payload = record["payload"] or {}
            if answered and not running:
                return "".join(text), payload

    def _line(self, until: Deadline) -> str:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            ready, _, _ = select.select([fd], [], [], until.next_s())
            if not ready and not until.over():
                continue
            if not ready:
                raise TimeoutError(f"GDB did not answer in {self._deadline_s} s")
            chunk = os.read(fd, 65536)
            if not chunk:
                raise EOFError(f"GDB ended: {self._unread!r}")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    # What is the case now.

    def value(self, expression: str) -> str:
        quoted = expression.replace("\\", "\\\\").replace('"', '\\"')
        return str(self.mi(f'-data-evaluate-expression "{quoted}"')[1]["value"])

    def integer(self, expression: str) -> int:
        return int(self.value(f"(long)({expression})"))

    def frames(self) -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = self.mi("-stack-list-frames")[1]["stack"]
        return frames

    def function(self) -> str | None:
        return self.frames()[0].get("func")

    def depth(self) -> int:
        return int(self.mi("-stack-info-depth")[1]["depth"])

    def where(self) -> str:
        frame = self.mi("-stack-list-frames 0 0")[1]["stack"][0]
        if "line" not in frame:
            return str(frame.get("func", frame["addr"]))
        return f"{Path(frame['file']).name}:{frame['line']}"

    def expect_at(self, place: str) -> None:
        """`file.c:31`, or a function's name."""
        here = self.where()
        function = self.function()
        assert place in (here, function), f"at {here} in {function}, expected {place}"

    def registers(self) -> dict[str, str]:
        """All general registers and flags."""
        names = self.mi("-data-list-register-names")[1]["register-names"]
        numbers = [
            number
            for number, name in enumerate(names)
            if name in GENERAL or name in ("fs_base", "gs_base")
        ]
        listed = self.mi("-data-list-register-values x " + " ".join(map(str, numbers)))[1]
        return {names[int(r["number"])]: r["value"] for r in listed["register-values"]}

    def breakpoints(self) -> list[str]:
        """What is watched or broken at, as GDB lists it."""
        rows = self.mi("-break-list")[1]["BreakpointTable"]["body"]
        return [row.get("what") or row.get("original-location", "?") for row in rows]

    def state(self) -> dict[str, Any]:
        """What `rdb-state` says."""
        state: dict[str, Any] = json.loads(self.run("rdb-state"))
        return state


GENERAL = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "eflags"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
)


class Recorded:
    """A recorded program whose source names places by `@name` in comments."""

    def __init__(
        self,
        folder: Path,
        program: Path,
        source: Path,
        *arguments: str,
        options: tuple[str, ...] = (),
    ) -> None:
        """`options` are of `rdb run`."""
        self.home = folder / "rdb-home"
        self.source = source
        self.folder = folder
        run = [sys.executable, "-m", "rdb", "run", "--name", "job", *options]
        self.done = deadlines.run(
            [*run, "--", str(program), *arguments],
            DEADLINE_S,
            env={**os.environ, "RDB_HOME": str(self.home)},
            cwd=folder,
        )

    def gdb(self, **options: Any) -> Gdb:
        return Gdb("job", home=self.home, **options)

    def at(self, name: str) -> str:
        """`reverse.c:31`, where the source says `@name`."""
        for number, line in enumerate(self.source.read_text().splitlines(), start=1):
            words = line.replace("*/", " ").split()
            if f"@{name}" in words:
                return f"{self.source.name}:{number}"
        raise KeyError(name)


def in_console(home: Path, job: str, lines: list[str]) -> list[str]:
    """What rdb's console says to each of the lines, or blocks of lines, from the end of the
    recording on."""
    done = deadlines.run(
        [sys.executable, "-m", "rdb", "attach", job],
        DEADLINE_S,
        env={**os.environ, "RDB_HOME": str(home)},
        input="".join(f"{line}\n" for line in lines),
    )
    said: list[str] = []
    for line in done.stdout.splitlines():
        typed = line.partition("> ")[2] if line.startswith(f"{job} ") else None
        if len(said) < len(lines) and typed == lines[len(said)].partition("\n")[0]:
            said.append("")
        elif said:
            said[-1] += line + "\n"
    assert len(said) == len(lines), done.stdout + done.stderr
    return said
