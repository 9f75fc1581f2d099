"""Which MPI functions there are, and how each is done.  Widening rdb's MPI is adding rows here.

A function of the library's export list that has no row stops the program with its name.

`stub` and `real` say who writes the C of a side: "auto" (generated from the standard's
parameters), "hand" (a C function in stub/ or lower/), real="none" (the stub does all of it).
`after` is C for the real side, run when the call succeeded: parameters have their names, besides
vc_COMM, vt_TYPE, r_REQUEST: the virtual objects of those parameters.  `made`, `first` and `last`
are C for the stub: after success, before the call and right after it.  `lengths` gives the length
of an array that the standard leaves open.

`blocks`: the call may wait for other processes; other threads of the program run meanwhile, so what
it wrote is named by staging_part() and staging_vector() in `after` (lower/staging.c).  `call` is C
for the call itself where that is not the function's name and its arguments.  `pending`: a
nonblocking collective; C that names in the same way what it will write (lower/pending.c).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    stub: str = "auto"
    real: str = "auto"
    blocks: bool = False
    call: str = ""
    after: str = ""
    made: str = ""
    first: str = ""
    last: str = ""
    pending: str = ""
    lengths: dict[str, str] = field(default_factory=dict)


ROWS: dict[str, Row] = {}


def add(names: str, row: Row) -> None:
    for name in names.split():
        assert f"MPI_{name}" not in ROWS, name
        ROWS[f"MPI_{name}"] = row


_rows = add

# Done in the upper half alone: no event.
_rows(
    "Initialized Finalized Get_address Address Pcontrol Alloc_mem"
    " Free_mem Comm_create_keyval Comm_free_keyval Comm_set_attr Comm_get_attr Comm_delete_attr"
    " Keyval_create Keyval_free Attr_put Attr_get Attr_delete Type_create_keyval Type_free_keyval"
    " Type_set_attr Type_get_attr Type_delete_attr Comm_create_errhandler Comm_set_errhandler"
    " Comm_get_errhandler Comm_call_errhandler Errhandler_create Errhandler_set Errhandler_get"
    " Errhandler_free Type_extent Type_lb Type_ub Type_hindexed Type_hvector Type_struct",
    Row(stub="hand", real="none"),
)
# Fortran's numbers of handles; other ABIs have these themselves.
_rows(
    "Comm_c2f Comm_f2c Type_c2f Type_f2c Group_c2f Group_f2c Op_c2f Op_f2c Request_c2f"
    " Request_f2c Message_c2f Message_f2c Info_c2f Info_f2c Errhandler_c2f Errhandler_f2c"
    " Win_c2f Win_f2c File_c2f File_f2c Status_c2f Status_f2c",
    Row(stub="hand", real="none"),
)
# Predefined attributes are asked of the real side once.
ROWS["MPI_Comm_get_attr"] = Row(stub="hand", real="hand")

# Both sides by hand.
_rows("Init Init_thread Finalize Abort Wtime Wtick Op_create", Row(stub="hand", real="hand"))

# The stub needs nothing special.
_rows(
    "Query_thread Recv Mrecv Irecv Imrecv Recv_init Wait Waitany Waitsome Waitall Test Testany"
    " Testsome Testall Request_free Request_get_status Cancel Start Startall Sendrecv"
    " Sendrecv_replace Probe Iprobe Mprobe Improbe Buffer_attach Buffer_detach Ibarrier"
    " Type_commit Type_get_contents Group_free Op_free Info_free Info_get"
    " Info_get_nthkey Error_string Error_class Add_error_class Add_error_code Add_error_string",
    Row(real="hand"),
)

# Freeing runs the delete callbacks of attributes first.
_rows(
    "Comm_free Comm_disconnect",
    Row(
        real="hand",
        first="if ((err = rdb_comm_freed(comm)))\n\t\treturn rdb_error(*comm, err, rdb_name);",
    ),
)
_rows(
    "Type_free",
    Row(
        real="hand",
        first="if ((err = rdb_type_freed(datatype)))\n"
        "\t\treturn rdb_error(MPI_COMM_WORLD, err, rdb_name);",
    ),
)

# Everything the standard's parameter list says is enough.
_rows(
    "Is_thread_main Get_version Get_library_version Get_processor_name"
    " Comm_rank Comm_size Comm_remote_size Comm_test_inter Comm_group Comm_remote_group"
    " Comm_compare Comm_set_name Comm_get_name Comm_get_info Comm_get_parent"
    " Group_size Group_rank Group_incl Group_excl Group_range_incl Group_range_excl Group_union"
    " Group_intersection Group_difference Group_translate_ranks Group_compare"
    " Get_count Get_elements Get_elements_x Test_cancelled Status_set_elements"
    " Status_set_elements_x Status_set_cancelled"
    " Type_contiguous Type_vector Type_create_hvector Type_indexed"
    " Type_create_hindexed Type_create_indexed_block Type_create_hindexed_block"
    " Type_create_struct Type_create_resized Type_create_subarray Type_create_darray"
    " Type_create_f90_integer Type_create_f90_real Type_create_f90_complex Type_match_size"
    " Type_size Type_size_x Type_get_extent Type_get_extent_x Type_get_true_extent"
    " Type_get_true_extent_x Type_get_envelope Type_set_name Type_get_name Pack_size"
    " Pack_external_size Op_commutative"
    " Cart_get Cart_rank Cart_coords Cart_shift Cart_map Cartdim_get Dims_create Topo_test"
    " Graph_get Graph_map Graph_neighbors Graph_neighbors_count Graphdims_get"
    " Info_create Info_dup Info_set Info_delete Info_get_nkeys Info_get_valuelen",
    Row(),
)
_rows("Barrier Comm_set_info", Row(blocks=True))

# A new communicator inherits its parent's error handler; dup also copies attributes.
_rows(
    "Comm_split Comm_split_type Comm_create Comm_create_group Intercomm_merge",
    Row(blocks=True, made="rdb_comm_made({comm}, *{new});"),
)
_rows(
    "Cart_create Cart_sub Graph_create",
    Row(blocks=True, made="rdb_comm_made({comm}, *{new});"),
)
_rows(
    "Comm_dup Comm_dup_with_info",
    Row(
        blocks=True,
        made="if ((err = rdb_comm_copied(comm, newcomm)))\n"
        "\t\treturn rdb_error(comm, err, rdb_name);",
    ),
)
_rows(
    "Type_dup",
    Row(
        made="if ((err = rdb_type_copied(oldtype, newtype)))\n"
        "\t\treturn rdb_error(MPI_COMM_WORLD, err, rdb_name);"
    ),
)

# Point to point.
_SENT = "note_send(vc_comm, dest, tag, buf, count, vt_datatype, 0);"
_POSTED = "request_send(r_request, vc_comm, dest, tag, buf, count, vt_datatype, false);"
_PREPARED = "request_send(r_request, vc_comm, dest, tag, buf, count, vt_datatype, true);"
for _name in ("Send", "Ssend", "Rsend", "Bsend"):
    _call = f"sent(PMPI_{_name}, PMPI_I{_name.lower()}, {{args}})"
    _rows(_name, Row(after=_SENT, blocks=True, call=_call))
_rows("Isend Issend Irsend Ibsend", Row(after=_POSTED))
_rows("Send_init Ssend_init Rsend_init Bsend_init", Row(after=_PREPARED))

# Packing.
_rows(
    "Pack Pack_external",
    Row(after="host->out((char *)outbuf + *position, v_position - *position);"),
)
_rows("Unpack", Row(after="out_typed(outbuf, outcount, vt_datatype);"))
_rows("Unpack_external", Row(after="out_typed(outbuf, outcount, vt_datatype);"))

# Blocking collectives: what they wrote.
_N = "comm_peers(vc_comm)"
_rows(
    "Bcast",
    Row(
        blocks=True,
        after="if (!comm_is_root(vc_comm, root))\n"
        "\tstaging_part(&staged, buffer, count, vt_datatype);",
    ),
)
_rows(
    "Gather",
    Row(
        blocks=True,
        after=f"if (comm_is_root(vc_comm, root))\n"
        f"\tstaging_part(&staged, recvbuf, (int64_t)recvcount * {_N}, vt_recvtype);",
    ),
)
_rows(
    "Gatherv",
    Row(
        blocks=True,
        after="if (comm_is_root(vc_comm, root))\n"
        "\tstaging_vector(&staged, recvbuf, recvcounts, displs, vt_recvtype, vc_comm);",
    ),
)
_rows(
    "Scatter Scatterv",
    Row(
        blocks=True,
        after="if (recvbuf != MPI_IN_PLACE && comm_receives(vc_comm, root))\n"
        "\tstaging_part(&staged, recvbuf, recvcount, vt_recvtype);",
    ),
)
_rows(
    "Allgather Alltoall",
    Row(
        blocks=True,
        after=f"staging_part(&staged, recvbuf, (int64_t)recvcount * {_N}, vt_recvtype);",
    ),
)
_rows(
    "Allgatherv",
    Row(
        blocks=True,
        after="staging_vector(&staged, recvbuf, recvcounts, displs, vt_recvtype, vc_comm);",
    ),
)
_rows(
    "Alltoallv",
    Row(
        blocks=True,
        after="staging_vector(&staged, recvbuf, recvcounts, rdispls, vt_recvtype, vc_comm);",
    ),
)
_rows(
    "Alltoallw",
    Row(
        blocks=True,
        after="for (int i = 0; i < comm_peers(vc_comm); i++)\n"
        "\tstaging_part(&staged, (char *)recvbuf + rdispls[i], recvcounts[i],"
        " type_of(ids_recvtypes[i]));",
        lengths={
            "sendtypes": "sendbuf == MPI_IN_PLACE ? 0 : comm_peers(vc_comm)",
            "recvtypes": "comm_peers(vc_comm)",
        },
    ),
)
# Reductions: how many elements of recvbuf (inoutbuf) each writes.
RESULTS: dict[str, str] = {
    "MPI_Reduce": "comm_is_root(vc_comm, root) ? count : 0",
    "MPI_Allreduce": "count",
    "MPI_Scan": "count",
    "MPI_Exscan": "count",
    "MPI_Reduce_scatter": "comm_part(vc_comm, recvcounts)",
    "MPI_Reduce_scatter_block": "recvcount",
    "MPI_Reduce_local": "count",
}
# With MPI_IN_PLACE the input, which is longer than the result, is in recvbuf as well.
INPUTS: dict[str, str] = {
    "MPI_Reduce_scatter": "comm_total(vc_comm, recvcounts)",
    "MPI_Reduce_scatter_block": "(int64_t)recvcount * comm_peers(vc_comm)",
}
for _name in RESULTS:
    _rows(_name.removeprefix("MPI_"), Row(blocks=_name != "MPI_Reduce_local"))
