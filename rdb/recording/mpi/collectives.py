"""Which MPI functions are collectives, on which ranks, and how their data flows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cache

from rdb.recording.log.describe import mpi_functions

NOPRECEDE = 2  # MPI_MODE_NOPRECEDE as the log has it: such a fence does not wait

_TO_ALL = (
    "Barrier Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter "
    "Reduce_scatter_block Comm_dup Comm_dup_with_info Comm_split Comm_split_type Comm_create "
    "Cart_create Graph_create Dist_graph_create Dist_graph_create_adjacent Win_create Win_allocate "
    "Win_allocate_shared Win_create_dynamic File_open File_close"
)
_FROM_ROOT = "Bcast Scatter Scatterv"
_TO_ROOT = "Gather Gatherv Reduce"
_UPWARDS = "Scan Exscan"
_AMONG_NEIGHBOURS = (
    "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw"
)


class Flow(IntEnum):
    """From which ranks a collective brings data to a rank."""

    ALL = 1
    FROM_ROOT = 2
    TO_ROOT = 3
    UPWARDS = 4
    """From all lower ranks."""
    LATER = 5
    """From neighbours only, or the completion is not known: it is not known which rank waited."""


_FLOWS = {
    **{f"MPI_{name}": Flow.ALL for name in _TO_ALL.split()},
    **{f"MPI_{name}": Flow.FROM_ROOT for name in _FROM_ROOT.split()},
    **{f"MPI_{name}": Flow.TO_ROOT for name in _TO_ROOT.split()},
    **{f"MPI_{name}": Flow.UPWARDS for name in _UPWARDS.split()},
    **{f"MPI_{name}": Flow.LATER for name in _AMONG_NEIGHBOURS.split()},
    "MPI_Comm_idup": Flow.LATER,
}


def on_whose_ranks(params: Sequence[str]) -> str:
    """Name of the parameter with the communicator of a collective."""
    return "comm_old" if "comm_old" in params else "comm"


@cache
def collectives() -> dict[int, tuple[str, Flow]]:
    """Hypercall number -> name and flow of data, of each function that is a collective."""
    found = {}
    for function in mpi_functions():
        name, params = str(function["name"]), function["params"]
        procedure = name.removesuffix("_c")
        if on_whose_ranks(params) not in params:
            continue
        if procedure in _FLOWS:
            found[int(function["nr"])] = (name, _FLOWS[procedure])
        elif name.startswith("MPI_I") and f"MPI_{procedure[5:].capitalize()}" in _FLOWS:
            found[int(function["nr"])] = (name, _FLOWS[f"MPI_{procedure[5:].capitalize()}"])
    return found


def nonblocking(name: str) -> bool:
    """Is the collective NAME nonblocking?"""
    return name.startswith("MPI_I") or name == "MPI_Comm_idup"


@cache
def window_calls() -> dict[int, str]:
    """Hypercall number -> name, of the calls on windows that order their ranks."""
    names = ("MPI_Win_fence", "MPI_Win_complete", "MPI_Win_wait")
    return {int(one["nr"]): one["name"] for one in mpi_functions() if one["name"] in names}


@cache
def meetings() -> dict[int, str]:
    """Hypercall number -> name, of calls in which ranks meet, other than `collectives`."""
    names = {
        *("MPI_Intercomm_create", "MPI_Intercomm_merge", "MPI_Comm_create_group"),
        *("MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept", "MPI_Comm_connect"),
    }
    return {int(one["nr"]): one["name"] for one in mpi_functions() if one["name"] in names}


_ON_FILES = (
    "set_size preallocate set_view set_info set_atomicity sync seek_shared read_all "
    "write_all read_at_all write_at_all read_ordered write_ordered read_all_begin read_all_end "
    "write_all_begin write_all_end read_at_all_begin read_at_all_end write_at_all_begin "
    "write_at_all_end read_ordered_begin read_ordered_end write_ordered_begin write_ordered_end"
)


@cache
def file_collectives() -> dict[int, str]:
    """Hypercall number -> name, of collective calls on open files."""
    names = {f"MPI_File_{name}{large}" for name in _ON_FILES.split() for large in ("", "_c")}
    return {int(one["nr"]): one["name"] for one in mpi_functions() if one["name"] in names}
