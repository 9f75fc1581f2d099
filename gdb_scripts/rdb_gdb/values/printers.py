"""Pretty printers of the C++ library: `std::vector of length 2 = {1, 2}`.

The library's package has a script with them, which GDB loads with the library.  GDB finds it by the
library's file name, which is `target:...` here, so we load it.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any

import gdb

from ..loading import at_load

_LIBRARY = "libstdc++.so."
_FOLDER = re.compile(r"^pythondir = '(/[^']+)'$", re.M)
_PRINTERS = "libstdc++-v6"  # their name in GDB's lists


def added(event: Any) -> None:
    """Loads the printers when GDB has read the library."""
    name = os.path.basename(event.new_objfile.filename or "")
    if not name.startswith(_LIBRARY):
        return
    folder = None if _known(event.new_objfile) else _folder()
    if folder is not None:
        if folder not in sys.path:
            sys.path.insert(0, folder)
        importlib.import_module("libstdcxx.v6").register_libstdcxx_printers(None)
    deque = getattr(sys.modules.get("libstdcxx.v6.xmethods"), "DequeWorkerBase", None)
    if deque is not None:  # those of gcc 12 ignore that the first block may begin in its middle
        deque.size, deque.index = _deque_size, _deque_element


def _known(objfile: Any) -> bool:
    """Has GDB or the user loaded the printers?"""
    printers = [*gdb.pretty_printers, *objfile.pretty_printers]
    return any(getattr(one, "name", None) == _PRINTERS for one in printers)


def _folder() -> str | None:
    """The folder of the printers, from the package's script in GDB's folder; None: not found."""
    from pathlib import Path

    scripts = Path(gdb.PYTHONDIR).parent / "auto-load"
    for script in sorted(scripts.glob(f"**/{_LIBRARY}*-gdb.py")):
        found = _FOLDER.search(script.read_text(encoding="utf-8"))
        if found is not None and (Path(found[1]) / "libstdcxx").is_dir():
            return found[1]
    return None


def _deque_size(worker: Any, deque: Any) -> int:
    first, last = deque["_M_impl"]["_M_start"], deque["_M_impl"]["_M_finish"]
    nodes = int(last["_M_node"] - first["_M_node"])
    of_last = int(last["_M_cur"] - last["_M_first"])
    return nodes * int(worker._bufsize) + of_last - int(first["_M_cur"] - first["_M_first"])


def _deque_element(worker: Any, deque: Any, index: Any) -> Any:
    first = deque["_M_impl"]["_M_start"]
    number = int(index) + int(first["_M_cur"] - first["_M_first"])
    return first["_M_node"][number // worker._bufsize][number % worker._bufsize]


@at_load
def define() -> None:
    gdb.events.new_objfile.connect(added)
