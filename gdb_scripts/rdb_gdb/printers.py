"""How values of the C++ library are shown: `std::vector of length 2 = {1, 2}`.

The library's package has a script for that, which GDB loads with the library.  It finds it by the
name of the file that it has read the library from, and that is `target:...` here.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import gdb

_LIBRARY = "libstdc++.so."
_FOLDER = re.compile(r"^pythondir = '(/[^']+)'$", re.M)
_PRINTERS = "libstdc++-v6"  # as they call themselves


def added(event: Any) -> None:
    """GDB has read a library."""
    name = os.path.basename(event.new_objfile.filename or "")
    if not name.startswith(_LIBRARY) or _known(event.new_objfile):
        return
    folder = _folder()
    if folder is None:
        return
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.import_module("libstdcxx.v6").register_libstdcxx_printers(None)


def _known(objfile: Any) -> bool:
    """GDB has found them itself, or the user has loaded them."""
    printers = [*gdb.pretty_printers, *objfile.pretty_printers]
    return any(getattr(one, "name", None) == _PRINTERS for one in printers)


def _folder() -> str | None:
    """Where the package has them: its script in GDB's own folder says that."""
    scripts = Path(gdb.PYTHONDIR).parent / "auto-load"
    for script in sorted(scripts.glob(f"**/{_LIBRARY}*-gdb.py")):
        found = _FOLDER.search(script.read_text(encoding="utf-8"))
        if found is not None and (Path(found[1]) / "libstdcxx").is_dir():
            return found[1]
    return None


def define() -> None:
    gdb.events.new_objfile.connect(added)
