"""Runs GDB once to ask it about a file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def gdb_program() -> str:
    """The GDB to run: $RDB_GDB or `gdb`."""
    return os.environ.get("RDB_GDB", "gdb")


def gdb_environment() -> dict[str, str]:
    """The environment with a PATH: without one GDB 13 ends by itself."""
    return {"PATH": os.defpath, **os.environ}


def ask_gdb(path: Path, *arguments: str, commands: str = "", timeout_s: float) -> str:
    """The output of GDB; empty if it cannot be run or does not end in time."""
    try:
        done = subprocess.run(
            [gdb_program(), "-nx", "-q", *arguments, path],
            input=commands,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout_s,
            check=False,
            env=gdb_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
