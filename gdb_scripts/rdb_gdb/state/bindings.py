"""Which of the functions of a name a breakpoint stops in.

`break step` means the program's own `step`, also where a library has a function of that name.
`break MPI_Send` in a Fortran program stops once for each call: GDB also finds the Fortran function
of that name, which calls the C function.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from .. import link
from ..loading import at_load
from ..values.lookups import short
from ..values.own_frames import in_header, own_file

_OF_C = re.compile(r"P?MPI_[A-Z]\w*\Z")
_OF_MPI = re.compile(r"p?mpi_", re.IGNORECASE)
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


_disabled: set[tuple[int, int]] = set()  # number and address: the user may enable it again


def own_first(point: Any) -> None:
    """Disables, once, the locations in libraries of a breakpoint that has one in the program.

    Not of MPI: a tool has functions of its names, which call the library's.
    """
    if not (link.opened() and point.visible) or _OF_MPI.match((point.location or "").strip()):
        return
    places = list(getattr(point, "locations", ()))
    libraries = [gdb.solib_name(one.address) or "" for one in places]
    if not any(own_file(name) and _written(one) for one, name in zip(places, libraries)):
        return
    for number, (one, library) in enumerate(zip(places, libraries), start=1):
        key = (point.number, one.address)
        if own_file(library) or not one.enabled or key in _disabled:
            continue
        _disabled.add(key)
        one.enabled = False
        gdb.write(
            f"rdb: breakpoint {point.number} stops in the program's own code; "
            f"`enable {point.number}.{number}` adds {one.function or 'that'} of {short(library)}\n"
        )


def _written(place: Any) -> bool:
    """Is it code of the program's sources, rather than an inline function of a system header?"""
    symtab = gdb.find_pc_line(place.address).symtab
    return symtab is None or not in_header(symtab)


@at_load
def define() -> None:
    for event in (gdb.events.breakpoint_created, gdb.events.breakpoint_modified):
        event.connect(look)
        event.connect(own_first)
