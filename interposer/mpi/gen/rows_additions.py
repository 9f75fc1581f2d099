"""What MPI-4 added, and what it allows before MPI_Init."""

from __future__ import annotations

from dataclasses import replace

from .rows import ROWS, Row, add

# Partitioned communication where the library below has it (lower/partitioned.c).
add(
    "Isendrecv Isendrecv_replace Psend_init Precv_init Pready Pready_range Pready_list Parrived",
    Row(real="hand"),
)

_INFO = "create dup set get get_nkeys get_nthkey get_valuelen delete free"
for _name in _INFO.split():
    ROWS[f"MPI_Info_{_name}"] = replace(
        ROWS[f"MPI_Info_{_name}"],
        first="if ((err = rdb_begin(RDB_LEVEL_MULTIPLE)))\n\t\treturn err;",
    )
