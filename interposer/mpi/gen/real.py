"""Writes the real side: for each function a C function from hypercall arguments to the real MPI."""

from __future__ import annotations

from collections.abc import Iterator

from . import rows_collectives, rows_processes, rows_windows  # noqa: F401
from .api import STRING_BYTES, Abi, Function, Param
from .rows import INPUTS, RESULTS, ROWS, Row
from .rows_large import array_length, pairs, reduces, small_of
from .sent import functions as sent_functions
from .sent import reads

# Class of a handle -> its virtual object in lower/objects.h and the prefix of variables of it.
OBJECTS = {
    "comm": ("vcomm", "vc"),
    "type": ("vtype", "vt"),
    "request": ("vreq", "r"),
    "win": ("vwin", "vw"),
    "file": ("vfile", "vf"),
}

VIRTUAL = tuple(f"struct {struct} *" for struct, _ in (*OBJECTS.values(), ("vobject", "")))


_COUNTS = ("POLYXFER_NUM_ELEM", "POLYXFER_NUM_ELEM_NNI")


class CannotGenerate(Exception):
    """The standard's parameter list is not enough: the row needs a hand-written function."""


def _object(param: Param) -> tuple[str, str]:
    assert param.handle
    struct, prefix = OBJECTS.get(param.handle, ("vobject", "vo"))
    return struct, f"{prefix}_{param.name}"


def _member(struct: str, variable: str) -> str:
    return f"{variable}->" if struct == "vobject" else f"{variable}->o."


class _Writer:
    """Collects the parts of one generated function, parameter by parameter."""

    def __init__(self, function: Function, row: Row) -> None:
        self.function, self.row = function, row
        self.locals: list[str] = []
        self.before: list[str] = []
        self.arguments: list[str] = []
        self.adopt: list[str] = []
        self.puts: list[str] = []
        self.failed: list[str] = []
        self.cleanup: list[str] = []
        for place, param in enumerate(function.params):
            self._param(param, f"a[{place}]")

    def _param(self, param: Param, arg: str) -> None:
        if param.base == "char" and param.pointer == 1:
            self._string(param, arg)
        elif param.base == "MPI_Status" and param.pointer == 1:
            self._status(param, arg)
        elif param.handle and param.is_array and not param.out:
            self._handle_array(param, arg)
        elif param.handle and param.pointer == 0:
            self._handle(param, arg)
        elif param.handle and param.pointer == 1 and param.out and not param.inout:
            self._new_handle(param, arg)
        elif param.base == "void" and param.pointer == 1:
            self.locals.append(f"void *{param.name} = (void *){arg};")
            self.arguments.append(param.name)
        elif param.base == "int" and param.declaration.endswith("[][3]"):
            self.locals.append(f"int (*{param.name})[3] = (int (*)[3]){arg};")
            self.arguments.append(param.name)
        elif param.base in ("int", "MPI_Aint", "MPI_Count", "MPI_Offset") and param.pointer < 2:
            self._number(param, arg)
        else:
            raise CannotGenerate(f"{self.function.name}: {param.declaration}")

    def _number(self, param: Param, arg: str) -> None:
        name, base = param.name, param.base
        if param.pointer == 0 and param.kind in _COUNTS and reduces(self.function.name):
            base = "MPI_Count"
        if param.pointer == 0:
            self.locals.append(f"{base} {name} = ({base}){arg};")
            self.arguments.append(name)
        elif param.is_array:
            const = "" if param.out else "const "
            self.locals.append(f"{const}{base} *{name} = ({const}{base} *){arg};")
            self.arguments.append(name)
            if param.out:
                self.puts.append(
                    f"if ({name} && {param.length} > 0)\n"
                    f"\thost->out({name}, (size_t){param.length} * sizeof(*{name}));"
                )
        else:
            start = f"{name} ? *{name} : 0" if param.inout else "0"
            self.locals.append(f"{base} *{name} = ({base} *){arg};")
            self.locals.append(f"{base} v_{name} = {start};")
            self.arguments.append(f"{name} ? &v_{name} : NULL")
            self.puts.append(f"put({name}, &v_{name}, sizeof(v_{name}));")

    def _string(self, param: Param, arg: str) -> None:
        if not param.out:
            self.locals.append(f"const char *{param.name} = (const char *){arg};")
            self.arguments.append(f"(char *){param.name}" if not param.const else param.name)
            return
        if param.length not in STRING_BYTES:
            raise CannotGenerate(f"{self.function.name}: {param.declaration}")
        self.locals.append(f"char *{param.name} = (char *){arg};")
        self.locals.append(f"char v_{param.name}[{param.length}];")
        self.arguments.append(f"{param.name} ? v_{param.name} : NULL")
        length = next((p.name for p in self.function.params if p.kind == "STRING_LENGTH"), None)
        room = STRING_BYTES[param.length]
        told = f"&v_{length}" if length else "NULL"
        self.adopt.append(f"shorten(v_{param.name}, sizeof(v_{param.name}), {room}, {told});")
        self.puts.append(f"put({param.name}, v_{param.name}, strlen(v_{param.name}) + 1);")

    def _status(self, param: Param, arg: str) -> None:
        upper = f"struct upper_status *{param.name} = (struct upper_status *){arg};"
        self.locals += [upper, f"MPI_Status v_{param.name};"]
        if not param.out or param.inout:
            self.before.append(f"status_in(&v_{param.name}, {param.name});")
        self.arguments.append(f"&v_{param.name}")
        if param.out:
            self.puts.append(f"status_out({param.name}, &v_{param.name}, false);")

    def _handle(self, param: Param, arg: str) -> None:
        struct, variable = _object(param)
        self.locals.append(f"struct {struct} *{variable} = {param.handle}_of({arg});")
        self.arguments.append(f"REAL({param.base}, {_member(struct, variable)}real)")

    def _handle_array(self, param: Param, arg: str) -> None:
        name, kind = param.name, param.handle
        assert kind
        length = self.row.lengths.get(name, param.length)
        if length in (None, "*"):
            raise CannotGenerate(f"{self.function.name}: {param.declaration}")
        self.locals.append(f"{param.base} *{name};\n\tuint32_t *ids_{name};")
        self.before.append(
            f"ids_{name} = handles_in(RDB_{kind.upper()}, (void *const *){arg}, {length}, "
            f"(void ***)&{name});"
        )
        if name == "recvtypes" and "eighbor" not in self.function.name:
            # MPICH looks whether it is the same array.  With MPI_IN_PLACE there are no sendtypes.
            sent = next(i for i, p in enumerate(self.function.params) if p.name == "sendtypes")
            self.before.append(f"if (a[{sent}] == {arg})\n\t\tsendtypes = recvtypes;")
        self.arguments.append(name)
        self.cleanup.append(f"free(ids_{name});")

    def _new_handle(self, param: Param, arg: str) -> None:
        name, kind = param.name, param.handle
        struct, variable = _object(param)
        self.locals.append(f"void **{name} = (void **){arg};")
        self.locals.append(f"{param.base} v_{name} = 0;")
        self.locals.append(f"struct {struct} *{variable};")
        self.arguments.append(f"{name} ? &v_{name} : NULL")
        extra = ""
        if kind == "comm":
            extra = f', "{self.function.name}"'
        self.adopt.append(f"{variable} = {kind}_new(v_{name}{extra});")
        assert kind
        self.puts.append(f"put_handle({name}, RDB_{kind.upper()}, {_member(struct, variable)}id);")
        # An MPI may set the handle to null when it fails.
        self.failed.append(
            f"if (rc != MPI_SUCCESS && {name} && v_{name} == {param.base.upper()}_NULL)\n"
            f"\tput_handle({name}, RDB_{kind.upper()}, RDB_NULL_ID);"
        )


def _indent(text: str, tabs: int) -> str:
    return "\n".join("\t" * tabs + line for line in text.splitlines())


def _reduction(writer: _Writer) -> None:
    """User operations run upper code: the result is kept out of upper memory until the end."""
    name = small_of(writer.function.name)
    target = "inoutbuf" if name == "MPI_Reduce_local" else "recvbuf"
    result = RESULTS[name]
    length = result
    if name in INPUTS:
        length = f"sendbuf == MPI_IN_PLACE ? {INPUTS[name]} : {result}"
    place = next(i for i, p in enumerate(writer.function.params) if p.name == target)
    writer.locals.append("struct reduction red;")
    writer.before.append(f"reduction_begin(&red, vo_op, vt_datatype, {target}, {length});")
    writer.arguments[place] = "red.buffer"
    writer.puts.append(f"reduction_result(&red, {result});")
    writer.cleanup.append("reduction_end(&red);")


def _staging(writer: _Writer) -> None:
    """Other threads run during the call: its results are kept out of upper memory until the end."""
    places = [
        i
        for i, p in enumerate(writer.function.params)
        if p.base == "void" and p.out and p.pointer == 1
    ]
    assert len(places) == 1, writer.function.name
    target = writer.function.params[places[0]].name
    writer.locals.append("struct staging staged;")
    writer.before += [
        f"staging_begin(&staged, {target});",
        *writer.row.after.splitlines(),
        "staging_ready(&staged);",
    ]
    writer.arguments[places[0]] = "staged.buffer"
    writer.cleanup.append("staging_end(&staged);")


def _aliased(function: Function) -> str:
    """C that finds out whether what a collective sends lies where it receives."""
    names = {p.name for p in function.params}
    small = "MPI_" + small_of(function.name).removeprefix("MPI_I").capitalize()
    if "sendbuf" not in names or "Neighbor" in small:
        return ""
    if "op" in names:
        return f"staging_sends(&staged, sendbuf, {INPUTS.get(small, 'count')}, vt_datatype);"
    if "sendcount" in names:
        peers = " * comm_peers(vc_comm)" if small in ("MPI_Scatter", "MPI_Alltoall") else ""
        return f"staging_sends(&staged, sendbuf, (int64_t)sendcount{peers}, vt_sendtype);"
    if "recvcounts" not in names:
        return ""
    types = "sendtypes == recvtypes" if "sendtypes" in names else "vt_sendtype == vt_recvtype"
    return (
        f"staged.aliased = sendbuf == recvbuf && sendcounts == recvcounts && sdispls == rdispls &&"
        f" {types};"
    )


def _pending(writer: _Writer) -> None:
    """Its results arrive in a copy, whose parts reach the program when the request is complete."""
    params = writer.function.params
    place, target = next(
        (i, p.name) for i, p in enumerate(params) if p.base == "void" and p.out and p.pointer == 1
    )
    names = {p.name for p in params}
    aliased = _aliased(writer.function)
    arrays = [f"ids_{p.name}" for p in params if p.handle and p.is_array and not p.out]
    writer.locals.append("struct staging staged;")
    writer.before += [
        f"staging_keep(&staged, {target});",
        *writer.row.pending.splitlines(),
        *([aliased] if aliased else []),
        "staging_ready(&staged);",
    ]
    if aliased:
        writer.arguments[[p.name for p in params].index("sendbuf")] = (
            "staging_sent(&staged, sendbuf)"
        )
    writer.arguments[place] = "staged.buffer"
    op, type_ = ("vo_op", "vt_datatype") if "op" in names else ("NULL", "NULL")
    kept = ", ".join([*arrays, "NULL", "NULL"][:2])
    writer.adopt.append(
        f"pending_begin(r_request, vc_comm, &staged, {op}, {type_}, {kept});",
    )
    writer.cleanup = [f"if (rc != MPI_SUCCESS) {line}" for line in writer.cleanup]
    writer.cleanup.append("if (rc != MPI_SUCCESS) staging_end(&staged);")


def _keep_objects(writer: _Writer) -> None:
    """Another thread may free them meanwhile."""
    for param in writer.function.params:
        if param.handle and param.pointer == 0:
            object_ = f"(struct vobject *){_object(param)[1]}"
            writer.before.insert(0, f"object_hold({object_});")
            writer.cleanup.append(f"object_release({object_});")


def _wrapped(writer: _Writer, call: str) -> str:
    return f"BLOCKING({call})" if writer.row.blocks else call


def _real_call(writer: _Writer) -> str:
    name, arguments = writer.function.name, ", ".join(writer.arguments)
    if writer.row.call:
        return writer.row.call.format(args=arguments)
    call = f"P{name}({arguments})"
    count = next(
        (p.name for p in writer.function.params if p.kind in _COUNTS and not p.pointer), None
    )
    if count and reduces(name):
        large = f"P{name}_c({arguments})"
        call = f'{count} > INT_MAX ? LARGE_CALL("{name}_c", {large}) : {call}'
    return _wrapped(writer, call)


def _narrow(writer: _Writer, small: Function) -> Iterator[str]:
    """The call by the function of small counts, for an MPI that has no other."""
    arguments, after = [], []
    for argument, param, least in zip(
        writer.arguments, writer.function.params, small.params, strict=True
    ):
        name = param.name
        if param.base == least.base or least.base not in ("int", "MPI_Aint"):
            arguments.append(argument)
        elif least.base == "MPI_Aint" or (param.is_array and least.base != "int"):
            arguments.append(f"(const MPI_Aint *){argument}" if param.pointer else argument)
        elif param.is_array:
            length = array_length(writer.function, name)
            arguments.append(f"narrow_array(&narrow, {argument}, {length})")
        elif param.pointer:
            yield f"int n_{name};"
            arguments.append(f"{name} ? &n_{name} : NULL")
            after.append(f"v_{name} = n_{name};")
        else:
            arguments.append(f"narrow_int(&narrow, {argument})")
    call = f"P{small.name}({', '.join(arguments)})"
    yield f"rc = {_wrapped(writer, call)};"
    yield from after


def _call(writer: _Writer, small: Function | None) -> Iterator[str]:
    if small is None:
        yield f"rc = {_real_call(writer)};"
        return
    yield f'struct narrow narrow = {{ .name = "{writer.function.name}" }};'
    yield "#if LARGE_COUNTS"
    call = f"P{writer.function.name}({', '.join(writer.arguments)})"
    yield f"rc = {_wrapped(writer, call)};"
    yield "#else"
    yield from _narrow(writer, small)
    yield "#endif"


def _function(function: Function, row: Row, small: Function | None) -> Iterator[str]:
    """SMALL: the function of which this is the one with large counts."""
    writer = _Writer(function, row)
    if function.name in RESULTS:
        _reduction(writer)
    if "&staged" in row.after:
        _staging(writer)
    if row.pending:
        _pending(writer)
    if "window_landed" in row.after:
        writer.locals.append("const uint64_t reads = vw_win->reads;")
    if row.blocks:
        _keep_objects(writer)
    yield f"static int64_t real_{function.short}(const uint64_t *a __attribute__((unused)))"
    yield "{"
    unused = " __attribute__((unused))"
    for line in writer.locals:
        marked = f"{line[:-1]};" if "=" in line else line
        if line.startswith(VIRTUAL):
            head, _, tail = line[:-1].partition(" = ")
            marked = head + unused + (f" = {tail}" if tail else "") + ";"
        yield f"\t{marked}"
    yield "\tint rc;\n"
    yield from (f"\t{line}" for line in writer.before)
    for line in _call(writer, small):
        yield line if line.startswith("#") else f"\t{line}"
    done = [*writer.adopt, *([row.after] if row.after else []), *writer.puts]
    if done:
        # A message too long for its buffer fills the buffer before the call fails.
        partial = not writer.adopt and any(p.base == "void" and p.out for p in function.params)
        yield f"\tif (rc == MPI_SUCCESS{' || is_truncation(rc)' if partial else ''}) {{"
        yield from (_indent(text, 2) for text in done)
        yield "\t}"
    yield from (_indent(text, 1) for text in writer.failed)
    if small and row.pending:
        yield "\tif (rc == MPI_SUCCESS)\n\t\tpending_keep(r_request, &narrow);"
    if small:
        yield "\tnarrow_end(&narrow);"
    yield from (f"\t{line}" for line in writer.cleanup)
    yield "\treturn rc;"
    yield "}\n"


def write(abi: Abi) -> str:
    lines = [
        "/* Generated by interposer/mpi/gen: calls of the real MPI. */",
        '#include "lower/objects/real.h"',
        '#include "lower/objects/pending.h"',
        '#include "lower/files/files.h"',
        '#include "lower/windows/windows.h"',
        '#include "lower/objects/large.h"',
        '#include "lower/core/sent.h"',
        "",
    ]
    by_name = {function.name: function for function in abi.functions}
    for function in abi.functions:
        row = ROWS.get(function.name)
        if row and row.real == "auto":
            large = function.name.endswith("_c")
            small = by_name[small_of(function.name)] if large else None
            lines.extend(_function(function, row, small))
        elif row and row.real == "hand":
            lines.append(f"int64_t real_{function.short}(const uint64_t *a);\n")
    lines.extend(sent_functions(abi))
    lines.append("static const struct real_function functions[] = {")
    for function in abi.functions:
        row = ROWS.get(function.name)
        body = f"real_{function.short}" if row and row.real != "none" else "NULL"
        handles = "".join(
            "*"
            if param.pointer and param.base != "void"
            else param.handle[0]
            if param.handle and not param.pointer
            else "."
            for param in function.params
        )
        sent = f"sent_{function.short}" if reads(function) else "NULL"
        lines.append(
            f'\t[{function.index}] = {{ "{function.name}", {body}, "{handles}", {sent} }},'
        )
    lines.append("};")
    lines.append("static const uint8_t places[][LARGE_PLACES] = {")
    for function in abi.functions:
        found = [place + 1 for pair in pairs(function, abi) for place in pair]
        if found:
            lines.append(f"\t[{function.index}] = {{ {', '.join(map(str, found))} }},")
    lines.append("\t[sizeof(functions) / sizeof(functions[0])] = { 0 },")
    lines.append("};")
    lines.append("static const struct predefined_handle handles[] = {")
    for symbol in abi.data:
        if symbol.handle and symbol.id and symbol.handle not in ("errhandler", "session"):
            kind = symbol.handle.upper()
            lines.append(f"#ifdef {symbol.mpi_name}")
            lines.append(f"\t{{ RDB_{kind}, {symbol.id}, BITS({symbol.mpi_name}) }},")
            lines.append("#endif")
    lines.append("};")
    lines.append("void real_tables_set(void)")
    lines.append("{")
    lines.append("\treal_functions = functions;")
    lines.append(f"\treal_function_count = {len(abi.functions)};")
    lines.append("\tlarge_places = places;")
    lines.append("\tpredefined_handles = handles;")
    lines.append("\tpredefined_handle_count = sizeof(handles) / sizeof(handles[0]);")
    lines.append("}")
    return "\n".join(lines) + "\n"
