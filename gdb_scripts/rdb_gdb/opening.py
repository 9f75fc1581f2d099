"""rdb-open: a rank of a recording as GDB's target."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess

import gdb

from . import bookmark, conditions, history, link, names, own_code
from .command import Command

NAME = re.compile(r"\d+(\.\d+)*(:\d+)?\Z")


class Open(Command):
    """Open a rank of a recorded job: rdb-open JOB [RANK]
    JOB is a name that `rdb ls` shows, or the path of a job's directory; RANK is 0 if not
    given, or a process as `rdb info` names it: 0.1 rank 0's first child, 0:1 its first program.
    The session starts at the beginning of the recording."""

    name = "rdb-open"
    kind = gdb.COMMAND_FILES

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = gdb.string_to_argv(argument)
        if not 1 <= len(words) <= 2 or (len(words) == 2 and not NAME.match(words[1])):
            raise gdb.GdbError("Usage: rdb-open JOB [RANK]")
        job, rank = words[0], words[1] if len(words) == 2 else "0"
        history.log.current = None
        prepare()
        serve = [*rdb_command(), "serve", job, "--rank", rank, "--stdio"]
        try:
            # exec: a shell that stayed between GDB and the server would keep GDB's error pipe open.
            gdb.execute(f"target extended-remote | exec {shlex.join(serve)}", to_string=True)
        except gdb.error as error:
            raise gdb.GdbError(why_not(serve) or f"cannot open {job}: {error}") from None
        names.take_over()
        names.forget()
        conditions.forget()
        bookmark.bookmarks.clear()
        history.log.begin()
        info = link.ask("info")
        use_sources(info.get("sources"))
        gdb.write(
            f"Opened {info['job']}, rank {info['process']}: "
            f"events {info['first_event']} to {info['last_event']}, {info['state']}.\n"
        )
        for lost in info["lost"]:
            gdb.write(f"rdb: {lost}\n")


def prepare() -> None:
    """What a connection to a server needs to be set."""
    for setting in (
        "set sysroot target:",
        "set exec-file-mismatch off",
        # A request may replay for a while; Ctrl-C ends it, not the clock.
        "set remotetimeout 86400",
    ):
        gdb.execute(setting, to_string=True)
    own_code.add()


packed_roots: list[str] = []  # top folders whose sources come from the pack that is open


def use_sources(folder: str | None) -> None:
    """Sources that came with a pack, in place of the machine's own of the same names."""
    for root in packed_roots:
        gdb.execute(f"unset substitute-path {root}", to_string=True)
    packed_roots.clear()
    for root in sorted(os.listdir(folder)) if folder else ():
        gdb.execute(f"set substitute-path /{root} {folder}/{root}", to_string=True)
        packed_roots.append(f"/{root}")


def why_not(serve: list[str]) -> str | None:
    """The server's own complaint: it is asked again, without anybody to talk to."""
    done = subprocess.run(serve, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    gdb.set_convenience_variable("_rdb_exit_code", done.returncode)  # rdb/session/debugger.py
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if done.returncode and lines else None


def rdb_command() -> list[str]:
    """$RDB_EXECUTABLE; else the rdb beside this file's installation; else the one on PATH."""
    given = os.environ.get("RDB_EXECUTABLE")
    if given:
        return [given]
    folder = os.path.dirname(os.path.abspath(__file__))
    while os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        for candidate in (
            os.path.join(folder, ".venv", "bin", "rdb"),
            os.path.join(folder, "bin", "rdb"),
        ):
            if os.access(candidate, os.X_OK):
                return [candidate]
    found = shutil.which("rdb")
    if found is None:
        raise gdb.GdbError("rdb is not found: set RDB_EXECUTABLE to its path")
    return [found]


def define() -> None:
    Open()
