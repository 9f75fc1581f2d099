"""Writes the upper half's libmpi: data symbols, marshalling functions, refusals."""

from __future__ import annotations

from collections.abc import Iterator

from . import rows_collectives, rows_processes, rows_windows  # noqa: F401
from .api import Abi, Function, Param
from .rows import ROWS, Row
from .rows_large import same, small_of
from .rows_persistent import is_init, kinds, nonblocking

CLASS_ORDER = (
    "comm", "type", "group", "op", "request", "message", "info", "errhandler", "win", "file",
    "session",
)  # fmt: skip
# Functions outside the MPI_ names that stub/attributes.c has.
CALLBACKS = {
    f"OMPI_C_MPI_{kind}{name}_FN"
    for kind in ("COMM_", "TYPE_", "WIN_", "")
    for name in ("DUP", "NULL_COPY", "NULL_DELETE")
}
# What the Fortran library calls and refers to besides: stub/fortran*.c.
FORTRAN = {
    *(f"ompi_attr_{verb}_{kind}" for verb in ("create_keyval", "get", "set")
      for kind in ("aint", "fint")),
    *(f"ompi_fortran_{what}" for what in ("argv_blank_f2c", "argv_count_f2c",
      "multiple_argvs_f2c", "string_c2f", "string_f2c")),
    *(f"ompi_info_get{what}" for what in ("", "_nthkey", "_valuelen")),
    "ompi_datatype_match_size", "ompi_errhandler_create", "ompi_errhandler_invoke",
    *(f"mpi_{kind}{name}_fn{end}" for kind in ("", "comm_", "type_", "win_")
      for name in ("dup", "null_copy", "null_delete") for end in ("", "_", "__")),
}  # fmt: skip
# Its nonblocking collectives look into the request that they get.
REQUEST_LOOKED_INTO = {
    *("MPI_Iallgatherv", "MPI_Ialltoallv", "MPI_Ialltoallw", "MPI_Igatherv", "MPI_Iscatterv"),
    *(f"MPI_Ineighbor_{name}" for name in ("allgatherv", "alltoallv", "alltoallw")),
    "MPI_Ireduce_scatter",
}
POINTERS = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE"}
# Functions of the standard that the library has as macros or not at all, and that stub/ has.
EXTRAS = {"MPI_Aint_add", "MPI_Aint_diff"}


def _value(param: Param) -> str:
    if param.pointer or param.base.endswith(("function", "function_c")):
        return f"(uint64_t){param.name}"
    if param.handle:
        return f"rdb_id(RDB_{param.handle.upper()}, {param.name})"
    return f"(uint64_t)(int64_t){param.name}"


def _declaration(function: Function, prefix: str = "") -> str:
    params = ", ".join(p.declaration for p in function.params) or "void"
    return f"{function.result} {prefix}{function.name}({params})"


def _failure(function: Function) -> str:
    """Whose error handler hears of it."""
    if function.communicator and not function.short.startswith("File_"):
        return f"rdb_error({function.communicator}, rdb_result, rdb_name)"
    for kind in ("win", "file"):
        for param in function.params:
            if param.handle == kind and (param.pointer == 0 or param.inout):
                handle = ("*" if param.pointer else "") + param.name
                return f"rdb_error_on(RDB_{kind.upper()}, {handle}, rdb_result, rdb_name)"
    if function.short.startswith(("File_", "Register_datarep")):
        return "rdb_error_on(RDB_FILE, 0, rdb_result, rdb_name)"
    return "rdb_error(MPI_COMM_WORLD, rdb_result, rdb_name)"


def _call(function: Function, row: Row, index: str = "") -> Iterator[str]:
    """INDEX: of the function whose call it is, where that is another one."""
    names = {
        "comm": function.communicator or "",
        "new": next((p.name for p in function.params if p.base == "MPI_Comm" and p.out), ""),
    }
    yield f"EXPORT {_declaration(function, 'P')}"
    yield "{"
    yield f'\tstatic const char rdb_name[] __attribute__((unused)) = "{function.name}";'
    count = len(function.params)
    if row.first or row.made:
        yield "\tint err;" if "err" in row.first + row.made else ""
    if row.first:
        yield f"\n\t{row.first}"
    if count:
        yield "\tconst uint64_t rdb_args[] = {"
        yield from (f"\t\t{_value(param)}," for param in function.params)
        yield "\t};"
    else:
        yield "\tconst uint64_t *rdb_args = 0;"
    yield f"\tint64_t rdb_result = rdb_call(RDB_{index or function.short}, {count}, rdb_args);\n"
    if row.last:
        yield f"\t{row.last}"
    if function.short.startswith("T_"):  # no error handler hears of it
        yield "\treturn (int)rdb_result;\n}"
        return
    yield "\tif (__builtin_expect((int)rdb_result != 0, 0))"
    yield f"\t\treturn {_failure(function)};"
    if row.made:
        yield "\t" + row.made.format(**names)
    if function.name in REQUEST_LOOKED_INTO:
        yield "#ifndef RDB_CORE\n\trdb_body_of_request(request);\n#endif"
    yield "\treturn 0;"
    yield "}"


def _persistent(function: Function, abi: Abi) -> Iterator[str]:
    params = [p for p in function.params if p.handle != "info"]
    index = nonblocking(function.name, abi).short
    yield f"EXPORT {_declaration(function, 'P')}"
    yield "{"
    yield "\tconst uint64_t rdb_args[] = {"
    yield from (f"\t\t{_value(param)}," for param in params)
    yield "\t};\n"
    yield f"\treturn rdb_persistent_init(RDB_{index}, {len(params)}, rdb_args, "
    yield f'\t\t"{kinds(function)}", comm, request, "{function.name}");'
    yield "}"


def _alias(function: Function) -> str:
    return f'EXPORT __attribute__((weak, alias("P{function.name}"))) {_declaration(function)};'


def _data(abi: Abi) -> Iterator[str]:
    for symbol in abi.data:
        size = f"{symbol.size:#x}"
        if symbol.handle:
            kind = f"RDB_{symbol.handle.upper()}"
            name = symbol.mpi_name
            yield (
                f"EXPORT union {{ struct rdb_predef p; char room[{size}]; }} {symbol.name} "
                f"__attribute__((aligned(32))) = {{\n"
                f"\t.p = {{ RDB_PREDEF_MAGIC, {kind}, {max(symbol.fortran, 0)}, "
                f'"{name}", {symbol.id} }} }};'
            )
        elif symbol.name not in POINTERS:
            yield f"RDB_DATA({symbol.name}, {size})"
    for kind in CLASS_ORDER:
        rows = [s for s in abi.data if s.handle == kind and s.id]
        yield f"static const struct rdb_predef *const predef_{kind}[] = {{"
        yield from (f"\t[{s.id}] = &{s.name}.p," for s in rows)
        yield "};"
    yield "const struct rdb_predef_table rdb_predefined = {"
    for field in (".handles[RDB_{0}] = predef_{1},", ".count[RDB_{0}] = COUNT(predef_{1}),"):
        yield from ("\t" + field.format(kind.upper(), kind) for kind in CLASS_ORDER)
    yield "};"
    yield "#ifndef RDB_CORE"
    for kind in CLASS_ORDER:
        rows = [s for s in abi.data if s.handle == kind and s.id]
        yield f"static const uint16_t fortran_{kind}[] = {{"
        yield from (f"\t[{s.fortran}] = {s.id}," for s in rows)
        yield "};"
    yield "const struct rdb_fortran_table rdb_fortran[RDB_CLASSES] = {"
    for kind in CLASS_ORDER:
        yield f"\t[RDB_{kind.upper()}] = {{ fortran_{kind}, COUNT(fortran_{kind}) }},"
    yield "};"
    yield "#endif"


def write(abi: Abi) -> str:
    lines = [
        "/* Generated by interposer/mpi/gen: the upper half's libmpi. */",
        '#include "fortran.h"',
        '#include "persistent.h"',
        "",
        *_data(abi),
        "",
    ]
    for function in abi.functions:
        row = ROWS.get(function.name)
        if row is None:
            lines.append(f"RDB_REFUSED(P{function.name}, {function.index}, {function.name})")
            lines.append(f"RDB_ALIAS({function.name})")
            continue
        if row.stub == "auto":
            lines.extend(_call(function, row))
            lines += ["#ifndef RDB_CORE", _alias(function), "#endif"]
    for function in abi.upper:
        if is_init(function.name):
            lines.extend(_persistent(function, abi))
            lines += ["#ifndef RDB_CORE", _alias(function), "#endif"]
        elif same(function.name):
            small = small_of(function.name)
            lines.extend(_call(function, ROWS[small], small.removeprefix("MPI_")))
            lines += ["#ifndef RDB_CORE", _alias(function), "#endif"]
    lines += [f"RDB_INTERNAL({name})" for name in abi.internals if name not in CALLBACKS | FORTRAN]
    lines += [f"RDB_ABSENT({name})" for name in abi.absent if name not in EXTRAS]
    return "\n".join(lines) + "\n"


def second_names(abi: Abi) -> str:
    """A linker script.  MPI_Send_c is `large::MPI_Send()`, too, in the symbol table that debuggers
    read (nobody links to it): `break MPI_Send` stops at both, since GDB looks into all scopes."""
    names = {function.name for function in abi.all() if function.known} | set(abi.absent)
    large = sorted(name for name in names if name.endswith("_c") and small_of(name) in names)
    lines = [
        "/* Generated by interposer/mpi/gen: functions with large counts by their small names. */"
    ]
    for name in large:
        for small in (small_of(name), "P" + small_of(name)):
            lines.append(f"HIDDEN(_ZN5large{len(small)}{small}Ev = P{name});")
    return "\n".join(lines) + "\n"


def prototypes(abi: Abi) -> str:
    """So that the compiler compares hand-written functions with the standard."""
    lines = ["/* Generated by interposer/mpi/gen: the standard's prototypes of what there is. */"]
    for function in abi.all():
        if (function.name in ROWS or function.index < 0) and function.known:
            lines.append(f"EXPORT {_declaration(function, 'P')};")
    return "\n".join(lines) + "\n"
