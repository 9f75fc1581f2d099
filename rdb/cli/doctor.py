"""`rdb doctor`: the probes that rdb itself relies on, with what to do where one fails."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rdb.cli.output import print_json, print_table
from rdb.errors import RdbError
from rdb.paths import gdb_scripts_dir, lib_dir, rdb_exec_path
from rdb.recording import home

_PROBE_TIMEOUT_S = 60


@dataclass(frozen=True)
class Finding:
    """`ok`, `degraded` (works, with less) or `missing` (something does not work)."""

    what: str
    state: str
    detail: str
    remedy: str = ""


# Key in rdb-exec's answer -> what it is for, how bad its absence is, what to do.
_ABILITIES = {
    "sud": ("system calls (Syscall User Dispatch)", "missing", "needs Linux 5.11 or newer"),
    "fsgsbase": ("FSGSBASE instructions", "missing", "needs Linux 5.9 and a CPU of 2012 or newer"),
    "perf_breakpoints": (
        "hardware breakpoints (perf_event)",
        "degraded",
        "watchpoints are slow: sysctl kernel.perf_event_paranoid=2",
    ),
}


def doctor_command(args: argparse.Namespace) -> int:
    findings = [*_core(), *_gdb(), *_mpi(), *_store()]
    if args.json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_table(
            ("STATE", "WHAT", "FOUND", "REMEDY"),
            [(f.state, f.what, f.detail, f.remedy) for f in findings],
        )
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def _output(*command: str) -> tuple[int, str]:
    """Exit code and both streams of a probe; a probe that hangs has failed."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        return 127, str(error)
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {_PROBE_TIMEOUT_S} s"
    return done.returncode, done.stdout.strip()


def _core() -> Iterator[Finding]:
    try:
        executable = str(rdb_exec_path())
    except RdbError as error:
        yield Finding("rdb-exec", "missing", error.message, error.hint or "")
        return
    code, text = _output(executable, "--probe")
    try:
        abilities = json.loads(text)
        if not isinstance(abilities, dict):
            raise ValueError(text)
    except ValueError:
        yield Finding("rdb-exec", "missing", f"--probe: exit {code}: {text[:80]}", "`make dev`")
        return
    yield Finding("rdb-exec", "ok", executable)
    for key, (what, severity, remedy) in _ABILITIES.items():
        if abilities.get(key) is True:
            yield Finding(what, "ok", "yes")
        else:
            yield Finding(what, severity, "no", remedy)


def _gdb() -> Iterator[Finding]:
    gdb = shutil.which("gdb")
    if gdb is None:
        yield Finding("gdb", "missing", "not in PATH", "apt-get install gdb")
        return
    _, text = _output(gdb, "--version")
    yield Finding("gdb", "ok", text.splitlines()[0] if text else gdb)
    code, text = _output(
        gdb, "-nx", "-batch", "-ex", "python import sys; print(sys.version.split()[0])"
    )
    if code == 0 and text[:1].isdigit():
        yield Finding("gdb's Python", "ok", text)
    else:
        yield Finding("gdb's Python", "missing", text[:80], "a gdb built with Python: Debian's")
    scripts = gdb_scripts_dir()
    state = "ok" if (scripts / "rdb.py").exists() else "missing"
    yield Finding("GDB extension", state, str(scripts), "" if state == "ok" else "reinstall rdb")


def _mpi() -> Iterator[Finding]:
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        yield Finding("mpirun", "degraded", "not in PATH", "apt-get install openmpi-bin for -n")
    else:
        _, text = _output(mpirun, "--version")
        yield Finding("mpirun", "ok", text.splitlines()[0] if text else mpirun)
    lower = lib_dir() / "mpi" / "openmpi" / "lower.so"
    if lower.exists():
        yield Finding("MPI side", "ok", str(lower))
    else:
        remedy = "build rdb where libopenmpi-dev is installed"
        yield Finding("MPI side", "degraded", "not built", remedy)
    srun = shutil.which("srun")
    if srun is not None:
        yield Finding("srun", "ok", srun)


def _store() -> Iterator[Finding]:
    path = home()
    there: Path = path
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK | os.X_OK):
        yield Finding("store", "missing", f"{path} cannot be written", "set RDB_HOME")
        return
    free = shutil.disk_usage(there).free
    state = "ok" if free > 1 << 30 else "degraded"
    remedy = "" if state == "ok" else "make room, or set RDB_HOME to another disk"
    yield Finding("store", state, f"{path}, {free / (1 << 30):.1f} GiB free", remedy)
