"""Names of the code that is rdb's own: the gate's code page and the vDSO.

The program's libraries do not have it, and where GDB knows of no function it refuses to step.
Backtraces go through the gate's page, too: a function returns there that a library below the
program had called.
"""

from __future__ import annotations

import os

import gdb

FILE = "own-code.elf"  # interposer/crossing/own_code.S
_HERE = os.path.dirname(os.path.realpath(__file__))
# Installed inside the package; in a source tree beside it.
_FOLDERS = ("../../_lib", "../../rdb/_lib")


def add() -> None:
    """Once; it stays, since its addresses are the same in every rank of every recording."""
    path = _path()
    if any(os.path.realpath(objfile.filename) == path for objfile in gdb.objfiles()):
        return
    gdb.execute(f"add-symbol-file {path}", to_string=True)


def _path() -> str:
    for folder in _FOLDERS:
        path = os.path.realpath(os.path.join(_HERE, folder, FILE))
        if os.path.exists(path):
            return path
    raise gdb.GdbError(f"{FILE} is missing: rdb is not built; run `make dev`")
