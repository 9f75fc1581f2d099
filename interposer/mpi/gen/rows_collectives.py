"""Rows of nonblocking and neighbourhood collectives."""

from __future__ import annotations

from .rows import INPUTS, RESULTS, ROWS, Row, add

# Topologies.
add("Dist_graph_neighbors", Row(real="hand"))
add("Dist_graph_neighbors_count", Row())
add(
    "Dist_graph_create Dist_graph_create_adjacent",
    Row(blocks=True, made="rdb_comm_made({comm}, *{new});"),
)

# Neighbourhood collectives: what they wrote.
_IN, _OUT = "comm_neighbors(vc_comm, true)", "comm_neighbors(vc_comm, false)"
_TYPES = {"sendtypes": _OUT, "recvtypes": _IN}
add(
    "Neighbor_allgather Neighbor_alltoall",
    Row(
        blocks=True,
        after=f"staging_part(&staged, recvbuf, (int64_t)recvcount * {_IN}, vt_recvtype);",
    ),
)
add(
    "Neighbor_allgatherv",
    Row(
        blocks=True,
        after="staging_neighbors(&staged, recvbuf, recvcounts, displs, vt_recvtype, vc_comm);",
    ),
)
add(
    "Neighbor_alltoallv",
    Row(
        blocks=True,
        after="staging_neighbors(&staged, recvbuf, recvcounts, rdispls, vt_recvtype, vc_comm);",
    ),
)
add(
    "Neighbor_alltoallw",
    Row(
        blocks=True,
        after=f"for (int i = 0; i < {_IN}; i++)\n"
        "\tstaging_part(&staged, (char *)recvbuf + rdispls[i], recvcounts[i],"
        " type_of(ids_recvtypes[i]));",
        lengths=_TYPES,
    ),
)

# Nonblocking ones write what the blocking ones do, when they are complete.
_MOVES = (
    "Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw"
    " Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv"
    " Neighbor_alltoallw"
)
for _name in _MOVES.split():
    _row = ROWS[f"MPI_{_name}"]
    add(f"I{_name.lower()}", Row(pending=_row.after, lengths=_row.lengths))
for _long, _result in list(RESULTS.items()):
    if _long == "MPI_Reduce_local":
        continue
    _parts = f"staging_part(&staged, recvbuf, {_result}, vt_datatype);"
    if _long in INPUTS:
        _parts += (
            f"\nif (sendbuf == MPI_IN_PLACE)\n"
            f"\tstaging_input(&staged, recvbuf, {INPUTS[_long]}, vt_datatype);"
        )
    add(f"I{_long.removeprefix('MPI_').lower()}", Row(pending=_parts))

# The new handle is there at once; attributes are copied to it in the upper half.
add(
    "Comm_idup",
    Row(
        real="hand",
        made="if ((err = rdb_comm_copied(comm, newcomm)))\n"
        "\t\treturn rdb_error(comm, err, rdb_name);",
    ),
)
