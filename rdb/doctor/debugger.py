"""GDB, its Python, our extension, and what ptrace may do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine
from rdb.paths import gdb_scripts_dir

_GROUP = "debugging"
_OLDEST = 12  # oldest version of GDB that is tested
_INSTALL = "apt-get install gdb"


def gdb(machine: Machine) -> Iterator[Finding]:
    path = machine.which("gdb")
    meaning = "shows the program: `rdb attach`, `rdb bisect`, `rdb serve`"
    if path is None:
        yield Finding(_GROUP, "gdb", State.MISSING, "not in PATH", meaning, _INSTALL, True)
        return
    _, text = machine.output(path, "--version")
    line = text.splitlines()[0] if text else ""
    version = re.search(r"(\d+)\.\d+\S*$", line)
    if version is None:
        detail = f"{path} answers {line[:60]!r}"
        yield Finding(_GROUP, "gdb", State.MISSING, detail, meaning, _INSTALL, True)
    elif int(version.group(1)) < _OLDEST:
        meaning = f"rdb is tested with GDB {_OLDEST} and newer"
        remedy = f"put GDB {_OLDEST} or newer first in PATH"
        yield Finding(_GROUP, "gdb", State.DEGRADED, line, meaning, remedy, True)
    else:
        yield Finding(_GROUP, "gdb", State.OK, line, meaning, essential=True)


def gdb_python(machine: Machine) -> Iterator[Finding]:
    what, meaning = "gdb's Python", "runs rdb's commands inside GDB"
    remedy = "a gdb built with Python, as Debian's is"
    path = machine.which("gdb")
    if path is None:
        yield Finding(_GROUP, what, State.MISSING, "no gdb", meaning, _INSTALL, True)
        return
    ask = "python import sys; print('.'.join(map(str, sys.version_info[:3])))"
    code, text = machine.output(path, "-nx", "-batch", "-ex", ask)
    if code == 0 and re.match(r"3\.\d", text):
        yield Finding(_GROUP, what, State.OK, text.splitlines()[-1], meaning, essential=True)
    else:
        detail = text.splitlines()[-1][:80] if text else f"exit {code}"
        yield Finding(_GROUP, what, State.MISSING, detail, meaning, remedy, True)


def extension(machine: Machine) -> Iterator[Finding]:
    scripts = gdb_scripts_dir()
    there = (scripts / "rdb.py").exists()
    yield Finding(
        _GROUP,
        "GDB extension",
        State.OK if there else State.MISSING,
        str(scripts) if there else f"not in {scripts}",
        "rdb's commands inside GDB",
        "" if there else "install rdb again",
        essential=True,
    )


def ptrace(machine: Machine) -> Iterator[Finding]:
    """Replicas need no ptrace; a GDB that attaches to a live rank does."""
    what = "ptrace scope"
    scope = machine.read("/proc/sys/kernel/yama/ptrace_scope")
    if scope in (None, "0"):
        meaning = "GDB may attach to your live processes"
        yield Finding(_GROUP, what, State.OK, "not restricted", meaning)
    elif scope == "1":
        meaning = "recordings need no ptrace; `gdb -p` works on GDB's own children only"
        remedy = "for live ranks: sysctl kernel.yama.ptrace_scope=0"
        yield Finding(_GROUP, what, State.OK, "1: own children", meaning, remedy)
    else:
        meaning = "recordings need no ptrace; `gdb -p` on a live rank is not allowed"
        remedy = (
            "sysctl kernel.yama.ptrace_scope=1" if scope == "2" else "only a reboot can change it"
        )
        yield Finding(_GROUP, what, State.DEGRADED, f"{scope}", meaning, remedy)


PROBES = (gdb, gdb_python, extension, ptrace)
