"""Bindings with large counts (MPI_Send_c): how they follow from those of int.

The log names the procedure: MPI_Send_c is an MPI_Send whose count has 64 bits.  More elements than
an int can count reach the real MPI as one element of a large datatype (lower/large.c), or, where an
operation must see the elements, by its own function of large counts.  Those with arrays of counts,
and constructors of datatypes, which an MPI tells from the small ones, have numbers of their own.
"""

from __future__ import annotations

from dataclasses import replace

from . import (  # noqa: F401
    rows_additions,
    rows_collectives,
    rows_persistent,
    rows_processes,
    rows_windows,
)
from .api import Abi, Function
from .rows import RESULTS, ROWS, Row

# Written by hand, on one side or both.
_REAL_BY_HAND = {"MPI_Type_get_contents_c", "MPI_Type_get_envelope_c"}
# Done in the upper half by hand (stub/large.c).
_BY_HAND = (
    "Buffer_attach Buffer_detach Get_count Get_elements Op_create Pack Status_set_elements"
    " Type_size Unpack Win_allocate Win_allocate_shared Win_create Win_shared_query"
)
_STUB_BY_HAND = {f"MPI_{name}_c" for name in _BY_HAND.split()}
# Lengths of arrays of counts and displacements, for an MPI that is to be given ints.
_PEERS = "comm_peers(vc_comm)"
_IN, _OUT = "comm_neighbors(vc_comm, true)", "comm_neighbors(vc_comm, false)"


def small_of(name: str) -> str:
    return name.removesuffix("_c")


def same(name: str) -> bool:
    """Is it the small function's call with larger numbers?"""
    return name.endswith("_c") and small_of(name) in ROWS and name not in _STUB_BY_HAND


def reduces(name: str) -> bool:
    """An operation sees the elements: they cannot be one of another datatype."""
    long = "MPI_" + name.removeprefix("MPI_I").capitalize() if name.startswith("MPI_I") else name
    return small_of(name) in RESULTS or small_of(long) in RESULTS


def array_length(function: Function, name: str) -> str:
    """Of an array that the standard leaves open."""
    param = next(p for p in function.params if p.name == name)
    if param.length not in (None, "", "*"):
        return str(param.length)
    if "eighbor" in function.name:
        return _OUT if name.startswith("s") else _IN
    if "educe_scatter" in function.name:
        return "vc_comm->size"
    if "atherv" in function.name and "ll" not in function.name:
        return f"comm_is_root(vc_comm, root) ? {_PEERS} : 0"
    if "catterv" in function.name:
        return f"comm_is_root(vc_comm, root) ? {_PEERS} : 0"
    return f"sendbuf == MPI_IN_PLACE ? 0 : {_PEERS}" if name.startswith("s") else _PEERS


def pairs(function: Function, abi: Abi) -> list[tuple[int, int]]:
    """(count, datatype): places of what can become one element of a large datatype."""
    large = next((f for f in abi.upper if f.name == function.name + "_c"), None)
    if large is None or reduces(function.name) or function.name not in ROWS:
        return []
    found = []
    for place, param in enumerate(large.params):
        if param.base != "MPI_Count" or param.pointer:
            continue
        after = enumerate(large.params[place:], place)
        datatype = next((i for i, p in after if p.base == "MPI_Datatype"), None)
        if datatype is not None:
            found.append((place, datatype))
    return found


def rows(abi: Abi) -> None:
    """Adds the rows of those that have numbers of their own."""
    for function in abi.functions:
        small = small_of(function.name)
        if not function.name.endswith("_c") or function.name in ROWS or small not in ROWS:
            continue
        real = "hand" if function.name in _REAL_BY_HAND else "auto"
        row: Row = replace(ROWS[small], real=real)
        ROWS[function.name] = row
        if small in RESULTS:
            RESULTS[function.name] = RESULTS[small]
