"""`break MPI_Send` in a Fortran program: one stop for each call.

GDB also finds the Fortran function of that name, which calls the C function.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from ..loading import at_load

_OF_C = re.compile(r"P?MPI_[A-Z]\w*\Z")
_OF_FORTRAN = re.compile(r"p?mpi_[a-z]\w*\Z")


def look(point: Any) -> None:
    """Disables the Fortran locations of a breakpoint that was made, or has a new location."""
    if point.pending or not _OF_C.match((point.location or "").strip()):
        return
    places = list(getattr(point, "locations", ()))  # GDB 12 does not have them
    if any(_OF_C.match(one.function or "") for one in places):
        for one in places:
            if _OF_FORTRAN.match(one.function or "") and one.enabled:
                one.enabled = False


@at_load
def define() -> None:
    gdb.events.breakpoint_created.connect(look)
    gdb.events.breakpoint_modified.connect(look)
