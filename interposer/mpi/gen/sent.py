"""Writes the real side's knowledge of what a call reads: for each function one that says so.

Made from the standard's parameter lists.  What these do not say is here; what is left out is in
SKIPPED.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import rows_collectives, rows_processes, rows_windows  # noqa: F401
from .api import Abi, Function, Param
from .rows import ROWS
from .rows_large import array_length, small_of

# Reasons, by the kind of the parameter or by function and parameter.
SKIPPED = {
    "FUNCTION": "an address, compared as an argument",
    "POLYFUNCTION": "an address, compared as an argument",
    "EXTRA_STATE": "an address, compared as an argument",
    "TOOL_MPI_OBJ": "what it points to is known to the MPI library alone",
    "STRING_2DARRAY": "the processes that are started have recordings of their own",
    "ARGUMENT_COUNT": "not read by the real MPI",
    "ARGUMENT_LIST": "not read by the real MPI",
    "MPI_T_cvar_write.buf": "its size is known to the MPI library alone",
    "MPI_T_pvar_write.buf": "its size is known to the MPI library alone",
    "MPI_Buffer_attach.buffer": "room, not data",
    "MPI_Win_attach.base": "goes out at the calls that synchronise",
    "MPI_Win_detach.base": "an address",
    **{
        f"MPI_{call}_init.buf": "goes out when the request is started"
        for call in ("Send", "Ssend", "Rsend", "Bsend", "Psend")
    },
    "MPI_Precv_init.buf": "room, not data",
    **{
        f"MPI_File_write_{call}_end.buf": "goes out when the operation begins"
        for call in ("all", "at_all", "ordered")
    },
}
_SIZES = {"int": 4, "MPI_Aint": 8, "MPI_Count": 8, "MPI_Offset": 8}
_IN_PLACE = "sendbuf == SENT_IN_PLACE"
_ROOT = "sent_root(vc_{comm}, (int)a[{root}])"


def _long(name: str) -> str:
    """MPI_Gather of MPI_Igather and MPI_Gather_c."""
    name = small_of(name)
    start = name[4:6]
    return "MPI_" + name[5:].capitalize() if start[:1] == "I" and start[1:].islower() else name


class _Writer:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = _long(function.name)
        self.places = {p.name: f"a[{i}]" for i, p in enumerate(function.params)}
        self.params = {p.name: p for p in function.params}
        self.lines: list[str] = []
        for param in function.params:
            reading = param.pointer and (not param.out or param.inout)
            if reading and not self._skipped(param):
                self._param(param)

    def _skipped(self, param: Param) -> bool:
        return param.kind in SKIPPED or f"{small_of(self.function.name)}.{param.name}" in SKIPPED

    def _if(self, condition: str, line: str) -> None:
        self.lines.append(f"if ({condition})\n\t\t{line}" if condition else line)

    # ---- parts ----

    def _pointer(self, name: str) -> str:
        return f"(const char *){self.places[name]}"

    def _type(self, name: str) -> str:
        return f"type_of({self.places[name]})"

    def _root(self) -> str:
        place = list(self.params).index("root")
        return _ROOT.format(comm=self.function.communicator, root=place)

    def _peers(self, sending: bool) -> str:
        if "eighbor" in self.name:
            return f"comm_neighbors(vc_comm, {'false' if sending else 'true'})"
        return "comm_peers(vc_comm)"

    def _typed(self, condition: str, buf: str, count: str, datatype: str) -> None:
        self._if(condition, f"sent_typed({self._pointer(buf)}, {count}, {self._type(datatype)});")

    def _each(self, condition: str, buf: str, side: str) -> None:
        """Parts for each peer, as counts, displacements and datatypes of one SIDE say."""
        names = self.params
        counts = f"{side}counts"
        displs = next(n for n in (f"{side[0]}displs", "displs") if n in names)
        bases = f"const {names[counts].base} *", f"const {names[displs].base} *"
        arrays = f"({bases[0]}){self.places[counts]}, ({bases[1]}){self.places[displs]}"
        peers = self._peers(side == "send")
        if f"{side}types" in names:
            handles = f"(void *const *){self.places[side + 'types']}"
            call = f"SENT_EACH_TYPE({self._pointer(buf)}, {arrays}, {handles}, {peers});"
        else:
            call = (
                f"SENT_EACH({self._pointer(buf)}, {arrays}, {self._type(side + 'type')}, {peers});"
            )
        self._if(condition, call)

    def _number(self, name: str) -> str:
        return f"(int64_t){self.places[name]}"

    # ---- buffers ----

    def _buffer(self, param: Param) -> None:
        names, buf, function = self.params, param.name, self.name
        if buf == "sendbuf":
            self._collective()
        elif function == "MPI_Bcast":
            self._typed(self._root(), buf, self._number("count"), "datatype")
        elif function in ("MPI_Fetch_and_op", "MPI_Compare_and_swap"):
            self._typed("", buf, "1", "datatype")
        elif buf == "origin_addr":
            self._typed("", buf, self._number("origin_count"), "origin_datatype")
        elif buf == "inbuf" and "insize" in names:
            size = self._number("insize")
            self.lines.append(f"host->sent({self._pointer(buf)}, (size_t)({size}));")
        elif buf == "inbuf" and "incount" in names:
            self._typed("", buf, self._number("incount"), "datatype")
        elif buf in ("buf", "inbuf", "inoutbuf") and "count" in names:
            self._typed("", buf, self._number("count"), "datatype")
        else:
            raise ValueError(f"{self.function.name}: what is read of {buf}?")

    def _collective(self) -> None:
        """MPI_IN_PLACE: what is sent is in recvbuf."""
        names, function = self.params, self.name
        peers = self._peers(True)
        there, in_place = f"!({_IN_PLACE})", _IN_PLACE
        if "recvbuf" in names and "recvtype" not in names and "recvtypes" not in names:
            self._reduction()
            return
        if "catter" in function and "educe" not in function:
            there, in_place = self._root(), ""
        if "sendcounts" in names:
            self._each(there, "sendbuf", "send")
        else:
            count = self._number("sendcount")
            if "lltoall" in function or "catter" in function:
                count = f"{count} * {peers}"
            self._typed(there, "sendbuf", count, "sendtype")
        if not in_place or "dest" in names or "eighbor" in function:
            return
        if function in ("MPI_Gather", "MPI_Gatherv"):
            in_place = f"{in_place} && {self._root()}"
        if "recvcounts" in names:
            self._each(in_place, "recvbuf", "recv")
        else:
            count = f"{self._number('recvcount')} * {peers}"
            self._typed(in_place, "recvbuf", count, "recvtype")

    def _reduction(self) -> None:
        count = "(int64_t)a[{}]"
        if "recvcounts" in self.params:
            base = self.params["recvcounts"].base
            array = f"((const {base} *){self.places['recvcounts']})"
            count = f"{self.places['recvcounts']} ? comm_total(vc_comm, {array}) : 0"
        elif "recvcount" in self.params:
            count = f"{self._number('recvcount')} * vc_comm->size"
        else:
            count = self._number("count")
        which = f"({_IN_PLACE} ? {self._pointer('recvbuf')} : sendbuf)"
        self.lines.append(f"sent_typed({which}, {count}, {self._type('datatype')});")

    # ---- all else ----

    def _array(self, param: Param) -> tuple[str, str]:
        """(condition, number of elements)"""
        name, length = param.name, param.length
        if name in ("coords", "remain_dims"):
            return "", "sent_dims(vc_comm)"
        if name == "edges":
            return "", f"sent_last((const int *){self.places['index']}, (int)a[1])"
        if name in ("destinations", "weights") and length == "*":
            return "", f"sent_sum((const int *){self.places['degrees']}, (int)a[1])"
        if name == "sourceweights":
            return "", self._number("indegree")
        if name == "destweights":
            return "", self._number("outdegree")
        if length == "*":
            text = array_length(self.function, name)
            root = "comm_is_root(vc_comm, root) ? "
            if text.startswith(root):
                return self._root(), text.removeprefix(root).removesuffix(" : 0")
            place = "sendbuf == MPI_IN_PLACE ? 0 : "
            if text.startswith(place):
                return f"!({_IN_PLACE})", text.removeprefix(place)
            return "", text
        assert length in self.places, (self.function.name, name, length)
        condition = (
            self._root() if param.name.startswith("array_of") and "root" in self.places else ""
        )
        return condition, self._number(str(length))

    def _param(self, param: Param) -> None:
        name, place = param.name, self.places[param.name]
        if param.kind == "BUFFER":
            self._buffer(param)
        elif param.kind == "STRING":
            self._if(
                self._root() if name == "command" else "", f"sent_string({self._pointer(name)});"
            )
        elif param.kind == "STRING_ARRAY":
            count = f"(int){self.places['count']}" if name == "array_of_commands" else "-1"
            self._if(self._root(), f"sent_strings((char *const *){place}, {count});")
        elif param.is_array:
            size = 8 if param.handle else _SIZES[param.base]
            size *= 3 if param.declaration.endswith("[][3]") else 1
            condition, length = self._array(param)
            self._if(condition, f"sent_array({self._pointer(name)}, {length}, {size});")
        elif param.kind == "STATUS":
            self.lines.append(f"host->sent({self._pointer(name)}, sizeof(struct upper_status));")
        else:
            size = _SIZES.get(param.base, 8)  # a handle
            self.lines.append(f"host->sent({self._pointer(name)}, {size});")


def _extra(function: Function) -> str:
    """Written by hand: what a request or a partition stands for."""
    by_hand = ("Start", "Startall", "Pready", "Pready_range", "Pready_list")
    return f"sent_by_{function.short}(a);" if function.short in by_hand else ""


def reads(function: Function) -> list[str]:
    """The statements."""
    row = ROWS.get(function.name)
    if row is None or row.stub != "auto" or row.real == "none":
        return []
    lines = _Writer(function).lines
    extra = _extra(function)
    return [*lines, extra] if extra else lines


def functions(abi: Abi) -> Iterator[str]:
    for function in abi.functions:
        lines = reads(function)
        if not lines:
            continue
        text = "\n".join(lines)
        yield f"static void sent_{function.short}(const uint64_t *a)"
        yield "{"
        for place, param in enumerate(function.params):
            if param.handle == "comm" and not param.pointer and f"vc_{param.name}" in text:
                yield f"\tconst struct vcomm *vc_{param.name} = comm_of(a[{place}]);"
        if "sendbuf" in text:
            place = next(i for i, p in enumerate(function.params) if p.name == "sendbuf")
            if "sendbuf ==" in text:
                yield f"\tconst char *sendbuf = (const char *)a[{place}];"
        yield ""
        yield from (f"\t{line}" for line in lines)
        yield "}\n"
