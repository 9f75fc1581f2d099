"""Writes the upper half's libmpi for another ABI: each function translates its arguments, calls the
canonical one (Open MPI's ABI; its names are hidden, core_names.h), and translates what came back.

Arrays whose length the standard leaves open get it from LENGTHS.
"""

from __future__ import annotations

from collections.abc import Iterator

from .api import HANDLES, Abi, Function, Param
from .constants import FLAGS, GROUPS, group_of
from .rows import ROWS
from .rows_large import small_of
from .tables import Constants, handle_ids

# Written by hand in shim/.
HAND = {"MPI_Pcontrol", "MPI_Grequest_start"}
# Handles as integers, and as Fortran's: shim/integers.c.
_CLASSES = [kind.capitalize() for kind in HANDLES.values()]
_WAYS = ("toint", "fromint", "c2f", "f2c")
INTEGERS = {f"MPI_{kind}_{way}" for kind in _CLASSES for way in _WAYS}
# shim/abi.c
ABI = {
    *(f"MPI_Abi_get_{what}" for what in ("version", "info", "fortran_info", "fortran_booleans")),
    *(f"MPI_Abi_set_{what}" for what in ("fortran_info", "fortran_booleans")),
}
# shim/beside.c
BESIDE = {
    *(f"MPI_Aint_{name}" for name in ("add", "diff")),
    *(f"MPI_Type_{name}" for name in ("extent", "lb", "ub", "hindexed", "hvector", "struct")),
    *(f"MPI_Errhandler_{name}" for name in ("create", "get", "set")),
    *(f"MPI_Status_{name}" for name in ("c2f", "f2c", "c2f08", "f082c", "f2f08", "f082f")),
    "MPI_Address",
}
# What MPICH's Fortran library calls besides: mpich/fortran.c.
FORTRAN = {
    *(f"MPII_{kind}_{verb}_attr" for kind in ("Comm", "Type", "Win") for verb in ("get", "set")),
    "MPII_Keyval_set_proxy",
    "MPII_Grequest_set_lang_f77",
}
# Whose predefined attributes may be constants.
ATTRIBUTES = {
    "MPI_Comm_get_attr": "RDB_COMM, MPI_Comm",
    "MPI_Attr_get": "RDB_COMM, MPI_Comm",
    "MPI_Win_get_attr": "RDB_WIN, MPI_Win",
}
PEERS, OUT, IN = "shim_peers(comm)", "shim_degree(comm, 1)", "shim_degree(comm, 0)"
SENT = f"sendbuf == SHIM_IN_PLACE ? 0 : {PEERS}"
LENGTHS = {
    ("MPI_Alltoallw", "sendtypes"): SENT,
    ("MPI_Alltoallw", "recvtypes"): PEERS,
    ("MPI_Ialltoallw", "sendtypes"): SENT,
    ("MPI_Ialltoallw", "recvtypes"): PEERS,
    ("MPI_Alltoallw_init", "sendtypes"): SENT,
    ("MPI_Alltoallw_init", "recvtypes"): PEERS,
    ("MPI_Neighbor_alltoallw", "sendtypes"): OUT,
    ("MPI_Neighbor_alltoallw", "recvtypes"): IN,
    ("MPI_Ineighbor_alltoallw", "sendtypes"): OUT,
    ("MPI_Ineighbor_alltoallw", "recvtypes"): IN,
    ("MPI_Neighbor_alltoallw_init", "sendtypes"): OUT,
    ("MPI_Neighbor_alltoallw_init", "recvtypes"): IN,
}
# Arrays of constants: of the others no element is one.
ARRAYS = {"MPI_Group_translate_ranks", "MPI_Type_create_darray", "MPI_Type_create_darray_c"}
PLAIN = {"int", "double", "char", "void", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Fint"}


def core(function: Function) -> str:
    return f"core_{function.name}"


def _is_function(param: Param) -> bool:
    return param.base.endswith(("_function", "_function_c"))


def _native(param: Param) -> str:
    """The parameter's declaration in the shim."""
    if _is_function(param):
        return f"void *{param.name}"
    if param.base in PLAIN or param.handle or param.base == "MPI_Status":
        return param.declaration
    return f"void *{param.name}" if param.pointer < 2 else f"void **{param.name}"


def _canonical(param: Param) -> str:
    """Its type in the core, as far as the calling convention goes."""
    if param.handle or param.base == "MPI_Status":
        return "void *"  # the shim's own memory: to gcc 14 const means that all of it is read
    if param.pointer or _is_function(param) or param.base not in PLAIN:
        return "const void *"
    return param.base


class _Shim:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.before: list[str] = []
        self.arguments: list[str] = []
        self.after: list[str] = []  # always
        self.success: list[str] = []
        self.done: list[str] = []
        for param in function.params:
            self._param(param)

    def _length(self, param: Param) -> str:
        open_length = param.length in (None, "", "*")
        name = LENGTHS.get((small_of(self.function.name), param.name))
        if name:
            return name
        if open_length and param.base == "MPI_Status":
            requests = next(p for p in self.function.params if p.handle == "request")
            return str(requests.length)
        assert not open_length, (self.function.name, param.name)
        return str(param.length)

    def _param(self, param: Param) -> None:
        group = group_of(self.function.name, param.name, param.kind)
        name = param.name
        if param.handle:
            self._handle(param)
        elif param.base == "MPI_Status" and param.pointer:
            self._status(param)
        elif param.kind == "BUFFER":
            self.arguments.append(f"shim_buffer_in({name})")
        elif param.kind == "WEIGHT":
            self.arguments.append(f"shim_weights_in({name})")
        elif group and param.pointer == 0:
            self.arguments.append(f"shim_{group}_in({name})")
        elif group and param.pointer == 1 and not param.is_array:
            self._pointer(param, group)
        elif group and param.is_array and self.function.name in ARRAYS:
            self._array(param, group)
        else:
            self.arguments.append(name)
        if small_of(self.function.name) == "MPI_Type_get_contents" and name == "array_of_integers":
            self.success.append(f"shim_contents(datatype, {name});")

    def _pointer(self, param: Param, group: str) -> None:
        name = param.name
        if param.inout:
            self.before.append(f"if ({name})\n\t\t*{name} = shim_{group}_in(*{name});")
            self.after.append(f"if ({name})\n\t\t*{name} = shim_{group}_out(*{name});")
        else:
            self.success.append(f"if ({name})\n\t\t\t*{name} = shim_{group}_out(*{name});")
        self.arguments.append(name)

    def _array(self, param: Param, group: str) -> None:
        name = param.name
        n = self._length(param)
        if param.out:
            self.success.append(
                f"for (int i = 0; {name} && i < {n}; i++)\n"
                f"\t\t\t{name}[i] = shim_{group}_out({name}[i]);"
            )
            self.arguments.append(name)
            return
        self._room(param, "int", n)
        self.before.append(
            f"for (int i = 0; {name} && i < n_{name}; i++)\n"
            f"\t\tc_{name}[i] = shim_{group}_in({name}[i]);"
        )
        self.arguments.append(f"{name} ? c_{name} : NULL")

    def _room(self, param: Param, kind: str, length: str) -> None:
        name = param.name
        self.before += [
            f"const int n_{name} = {length};",
            f"SHIM_ROOM({kind}, c_{name}, n_{name});",
        ]
        self.done.append(f"SHIM_DONE(c_{name}, n_{name});")

    def _handle(self, param: Param) -> None:
        name, base = param.name, param.base
        kind = f"RDB_{str(param.handle).upper()}"
        if param.pointer == 0:
            self.arguments.append(f"SHIM_IN({kind}, {name})")
            return
        reads = param.inout or not param.out
        if not param.is_array:
            start = f"{name} ? SHIM_IN({kind}, *{name}) : NULL" if reads else "NULL"
            self.before.append(f"void *c_{name} = {start};")
            if param.out:
                self.after.append(
                    f"if ({name} && c_{name})\n\t\t*{name} = SHIM_OUT({kind}, {base}, c_{name});"
                )
            self.arguments.append(f"{name} ? &c_{name} : NULL")
            return
        if any(p.name == param.length and p.pointer for p in self.function.params):
            self.arguments.append("NULL")  # of MPI_T_event_get_info, which has nothing to tell
            return
        self._room(param, "void *", self._length(param))
        start = f"SHIM_IN({kind}, {name}[i])" if reads else "NULL"
        self.before.append(
            f"for (int i = 0; {name} && i < n_{name}; i++)\n\t\tc_{name}[i] = {start};"
        )
        if param.out:
            self.after.append(
                f"for (int i = 0; {name} && i < n_{name}; i++) {{\n"
                f"\t\tif (c_{name}[i])\n"
                f"\t\t\t{name}[i] = SHIM_OUT({kind}, {base}, c_{name}[i]);\n\t}}"
            )
        if name == "recvtypes" and "eighbor" not in self.function.name:
            # MPICH looks whether it is the same array.  With MPI_IN_PLACE there are no sendtypes.
            place = self.arguments.index("sendtypes ? c_sendtypes : NULL")
            self.arguments[place] = (
                "!sendtypes ? NULL : sendtypes == recvtypes ? c_recvtypes : c_sendtypes"
            )
        self.arguments.append(f"{name} ? c_{name} : NULL")

    def _status(self, param: Param) -> None:
        name = param.name
        if not param.is_array:
            self.before += [
                f"struct rdb_status c_{name};",
                f"const int ignored_{name} = shim_ignored({name});",
                f"if (!ignored_{name})\n\t\tshim_status_in(&c_{name}, {name});",
            ]
            if param.out:
                self.after.append(
                    f"if (!ignored_{name})\n\t\tshim_status_out((void *){name}, &c_{name});"
                )
            self.arguments.append(f"ignored_{name} ? NULL : &c_{name}")
            return
        self._room(param, "struct rdb_status", f"shim_ignored({name}) ? 0 : {self._length(param)}")
        self.before.append(
            f"for (int i = 0; i < n_{name}; i++)\n\t\tshim_status_in(&c_{name}[i], {name} + i);"
        )
        self.after.append(
            f"for (int i = 0; i < n_{name}; i++)\n\t\tshim_status_out({name} + i, &c_{name}[i]);"
        )
        self.arguments.append(f"shim_ignored({name}) ? NULL : c_{name}")


def _declaration(function: Function, prefix: str) -> str:
    params = ", ".join(_native(p) for p in function.params) or "void"
    return f"EXPORT {function.result} {prefix}{function.name}({params})"


def _function(function: Function) -> Iterator[str]:
    types = ", ".join(_canonical(p) for p in function.params) or "void"
    yield f"extern {function.result} {core(function)}({types});"
    shim = _Shim(function)
    yield _declaration(function, "P") + ";"
    yield _declaration(function, "P")
    yield "{"
    yield from (f"\t{line}" for line in shim.before)
    yield f"\t{function.result} rc = {core(function)}({', '.join(shim.arguments)});\n"
    yield from (f"\t{line}" for line in shim.after)
    if shim.success:
        yield "\tif (rc == 0) {"
        yield from (f"\t\t{line}" for line in shim.success)
        yield "\t}"
    yield from (f"\t{line}" for line in shim.done)
    yield "\treturn shim_error_out(rc);" if function.result == "int" else "\treturn rc;"
    yield "}"
    yield f"SHIM_ALIAS({function.name})\n"


def _switch(name: str, pairs: list[tuple[int, int]]) -> Iterator[str]:
    yield f"static inline __attribute__((unused)) int {name}(long value)"
    yield "{"
    if pairs:
        yield "\tswitch (value) {"
        yield from (f"\tcase {a}: return {b};" for a, b in pairs)
        yield "\t}"
    yield "\treturn (int)value;"
    yield "}"


def _bits(name: str, pairs: list[tuple[int, int]]) -> Iterator[str]:
    yield f"static inline __attribute__((unused)) int {name}(int value)"
    yield "{"
    yield "\treturn " + (" | ".join(f"(value & {a} ? {b} : 0)" for a, b in pairs) or "value") + ";"
    yield "}"


def constants(native: Constants, canonical: Constants) -> str:
    """Translation of the groups of constants, and of predefined handles."""
    lines = ["/* Generated by interposer/mpi/gen: an ABI's constants and ours. */"]
    for name, value in native.values.items():
        if name not in ("MPI_IN_PLACE", "MPI_BOTTOM", "MPI_STATUS_IGNORE"):
            lines.append(f"#define {name} ({value})")
    for group in (*GROUPS, *FLAGS):
        if group == "offset":
            continue
        if group in FLAGS:
            pairs = [(native.values[n], canonical.values[n]) for n in FLAGS[group]]
            same = all(a == b for a, b in pairs)
            lines += _bits(f"shim_{group}_in", [] if same else pairs)
            lines += _bits(f"shim_{group}_out", [] if same else [(b, a) for a, b in pairs])
            continue
        pairs = native.pairs(group, canonical)
        suffix = "_predefined" if group == "keyval" else ""
        lines += _switch(f"shim_{group}{suffix}_in", pairs)
        lines += _switch(f"shim_{group}{suffix}_out", [(b, a) for a, b in pairs])
    a, b = native.values["MPI_DISPLACEMENT_CURRENT"], canonical.values["MPI_DISPLACEMENT_CURRENT"]
    for name, value, result in (("in", a, b), ("out", b, a)):
        lines.append(f"#define shim_offset_{name}(v) ((v) == {value} ? {result} : (v))")
    for name in ("IN_PLACE", "BOTTOM", "STATUS_IGNORE"):
        lines.append(f"#define SHIM_{name} ((void *){native.values['MPI_' + name]})")
        lines.append(f"#define CORE_{name} ((void *){canonical.values['MPI_' + name]})")
    return "\n".join(lines) + "\n"


def _handles(native: Constants, abi: Abi) -> Iterator[str]:
    ids = handle_ids(abi)
    for kind in HANDLES.values():
        rows = [(ids[name][1], value) for k, name, value in native.handles if k == kind]
        yield f"static uint32_t shim_{kind}_id(int64_t value)"
        yield "{"
        yield "\tswitch (value) {"
        seen = set()
        for number, value in rows:
            if value not in seen:
                yield f"\tcase {value}: return {number};"
            seen.add(value)
        yield "\t}"
        yield "\treturn 0;"
        yield "}"
        yield f"static const int64_t shim_{kind}_values[] = {{"
        yield from (f"\t[{number}] = {value}," for number, value in rows)
        yield "};"
    yield "uint32_t shim_predefined_id(unsigned class, int64_t value)"
    yield "{"
    yield "\tswitch (class) {"
    for kind in HANDLES.values():
        yield f"\tcase RDB_{kind.upper()}: return shim_{kind}_id(value);"
    yield "\t}"
    yield "\treturn 0;"
    yield "}"
    yield "const struct shim_values shim_values[RDB_CLASSES] = {"
    for kind in HANDLES.values():
        yield f"\t[RDB_{kind.upper()}] = {{ shim_{kind}_values, COUNT(shim_{kind}_values) }},"
    yield "};"


def write(native: Constants, abi: Abi, exported: set[str]) -> str:
    """EXPORTED: what the ABI's library exports; what rdb does not have of it ends the program."""
    lines = [
        "/* Generated by interposer/mpi/gen: the upper half's libmpi of another ABI. */",
        '#include "shim.h"',
        "",
        *_handles(native, abi),
        "",
    ]
    done = HAND | INTEGERS | BESIDE | ABI
    if exported >= FORTRAN:
        done |= FORTRAN
    for function in abi.all():
        if function.name in HAND or not function.known:
            continue
        if function.name not in ROWS and function.index >= 0:
            continue
        if function.name in INTEGERS | BESIDE | ABI:
            continue
        if any(p.base in ("MPI_Fint", "MPI_F08_status") for p in function.params):
            continue
        if function.result not in ("int", "double", "MPI_Aint"):
            continue
        if function.name in ATTRIBUTES:
            lines.append(f"SHIM_GET_ATTR({function.name}, {ATTRIBUTES[function.name]})")
        else:
            lines += _function(function)
        done.add(function.name)
    names = exported | {f.name for f in abi.all() if f.known} | set(abi.absent)
    for name in sorted(names - done):
        if name.startswith("MPI"):
            lines.append(f"SHIM_ABSENT({name})")
        elif "M" + name[2:] not in names or not name.startswith("PMPI"):
            lines.append(f"SHIM_INTERNAL({name})")
    return "\n".join(lines) + "\n"


def core_names(abi: Abi) -> str:
    """Hides the canonical functions, which the shims call."""
    lines = ["/* Generated by interposer/mpi/gen: names of the core of another ABI's libmpi. */"]
    names = [f.name for f in abi.all()] + list(abi.absent)
    lines += [f"#define P{name} core_{name}" for name in names]
    return "\n".join(lines) + "\n"
