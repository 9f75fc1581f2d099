"""Symbols of rdb's own code in the program: the gate's page and the vDSO.

No library of the program has them, and GDB refuses to step where it knows no function.  Backtraces
also pass through the gate's page: an upcall returns there.
"""

from __future__ import annotations

import os

import gdb

FILE = "own-code.elf"  # interposer/arch/x86_64/answer/own_code.S
_HERE = os.path.dirname(os.path.realpath(__file__))
# Installed inside the package; in a source tree beside it.
_FOLDERS = ("../../../_lib", "../../../rdb/_lib")


def add() -> None:
    """Adds the symbols once; their addresses are the same in every rank of every recording."""
    path = _path()
    if any(os.path.realpath(one.filename or "") == path for one in gdb.objfiles()):
        return
    gdb.execute(f"add-symbol-file {path}", to_string=True)


def _path() -> str:
    for folder in _FOLDERS:
        path = os.path.realpath(os.path.join(_HERE, folder, FILE))
        if os.path.exists(path):
            return path
    raise gdb.GdbError(f"{FILE} is missing: rdb is not built; run `make dev`")
