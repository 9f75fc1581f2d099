"""Persistent collectives (stub/persistent.h), and what calls that complete requests do for them."""

from __future__ import annotations

from dataclasses import replace

from .api import Abi, Function
from .rows import ROWS, Row

_POINT_TO_POINT = {f"MPI_{mode}_init" for mode in ("Send", "Recv", "Bsend", "Rsend", "Ssend")}
_ONE = {"MPI_Wait": "request", "MPI_Test": "request"}
_MANY = ("Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome")


def is_init(name: str) -> bool:
    """Of a persistent collective."""
    small = name.removesuffix("_c")
    others = {"MPI_Session_init", "MPI_Psend_init", "MPI_Precv_init"}
    return small.endswith("_init") and small not in _POINT_TO_POINT | others


def nonblocking(name: str, abi: Abi) -> Function:
    """The function that a start of it calls."""
    words = name.removesuffix("_c").removeprefix("MPI_").removesuffix("_init")
    wanted = f"MPI_I{words.lower()}"
    by_name = {function.name: function for function in abi.functions}
    large = by_name.get(f"{wanted}_c") if name.endswith("_c") else None
    return large or by_name[wanted]


def kinds(function: Function) -> str:
    """A letter for each argument but the info: see rdb_persistent_init()."""
    letters = {"comm": "c", "type": "t", "op": "o", "request": "r"}
    found = ""
    for param in function.params:
        if param.handle == "info":
            continue
        if param.handle == "type" and param.is_array:
            found += "S" if param.name.startswith("s") else "R"
        else:
            found += letters.get(param.handle or "", ".")
    return found


def _swapped(count: str, requests: str) -> Row:
    return Row(
        real="hand",
        first=f"struct rdb_swap rdb_swap;\n\trdb_swap_in(&rdb_swap, {count}, {requests});",
        last="rdb_swap_out(&rdb_swap);",
    )


for _name, _request in _ONE.items():
    ROWS[_name] = _swapped("1", _request)
for _many in _MANY:
    _count = "incount" if _many.endswith("some") else "count"
    ROWS[f"MPI_{_many}"] = _swapped(_count, "array_of_requests")
ROWS["MPI_Start"] = Row(
    real="hand",
    first="if (request && rdb_persistent(*request))\n\t\treturn rdb_persistent_start(*request);",
)
ROWS["MPI_Startall"] = Row(
    real="hand",
    first="if (rdb_persistent_any(count, array_of_requests))\n"
    "\t\treturn rdb_persistent_startall(count, array_of_requests);",
)
ROWS["MPI_Request_free"] = Row(
    real="hand",
    first="if (request && rdb_persistent(*request))\n\t\treturn rdb_persistent_free(request);",
)
ROWS["MPI_Request_get_status"] = Row(real="hand", first="request = rdb_persistent_inner(request);")
ROWS["MPI_Op_free"] = Row(real="hand", first="if (rdb_persistent_keeps(RDB_OP, op))\n\t\treturn 0;")
ROWS["MPI_Type_free"] = replace(
    ROWS["MPI_Type_free"],
    first=ROWS["MPI_Type_free"].first
    + "\n\tif (rdb_persistent_keeps(RDB_TYPE, datatype))\n\t\treturn 0;",
)
