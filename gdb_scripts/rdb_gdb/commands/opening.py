"""rdb-open: a rank of a recording as GDB's target."""

from __future__ import annotations

import os
import re
import shlex

import gdb

from .. import link
from ..search import lines_back, watching
from ..state import bookmarks, conditions, history, own_code
from . import names
from .command import Command, command, take_over

NAME = re.compile(r"\d+(\.\d+)*(:\d+)?\Z")


@command("rdb-open", gdb.COMMAND_FILES)
class Open(Command):
    """Open a rank of a recorded job: rdb-open JOB [RANK]
    JOB is a name that `rdb ls` shows, or the path of a job's directory; RANK is 0 if not
    given, or a process as `rdb info` names it: 0.1 rank 0's first child, 0:1 its first program.
    The session starts at the beginning of the recording."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = gdb.string_to_argv(argument)
        if not 1 <= len(words) <= 2 or (len(words) == 2 and not NAME.match(words[1])):
            raise gdb.GdbError("Usage: rdb-open JOB [RANK]")
        job, rank = words[0], words[1] if len(words) == 2 else "0"
        history.log.current = None
        prepare()
        serve = [*rdb_command(), "serve", job, "--rank", rank, "--stdio"]
        try:
            # exec: a shell between GDB and the server would keep GDB's error pipe open.
            gdb.execute(f"target extended-remote | exec {shlex.join(serve)}", to_string=True)
        except gdb.error as error:
            raise gdb.GdbError(why_not(serve) or f"cannot open {job}: {error}") from None
        take_over()
        names.forget()
        conditions.forget()
        watching.forget()
        lines_back.forget()
        bookmarks.known.clear()
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
    """Sets what a connection to a server needs."""
    for setting in (
        "set sysroot target:",
        "set exec-file-mismatch off",
        # A request may replay for a long time; only Ctrl-C ends it.
        "set remotetimeout 86400",
    ):
        gdb.execute(setting, to_string=True)
    own_code.add()


packed_roots: list[str] = []  # top folders whose sources come from the open pack


def use_sources(folder: str | None) -> None:
    """Makes GDB use the sources of a pack instead of files of the same names on this machine.

    FOLDER: the pack's sources; None: there is no pack.
    """
    for root in packed_roots:
        gdb.execute(f"unset substitute-path {root}", to_string=True)
    packed_roots.clear()
    for root in sorted(os.listdir(folder)) if folder else ():
        gdb.execute(f"set substitute-path /{root} {folder}/{root}", to_string=True)
        packed_roots.append(f"/{root}")


def why_not(serve: list[str]) -> str | None:
    """The server's error message: runs it again without input, at whose end it ends; None: it has
    no error."""
    import subprocess

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
    import shutil

    found = shutil.which("rdb")
    if found is None:
        raise gdb.GdbError("cannot find rdb: set RDB_EXECUTABLE to its path")
    return [found]
