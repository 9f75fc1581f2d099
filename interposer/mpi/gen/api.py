"""The MPI functions of one ABI: what the library exports, with the standard's parameter lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pympistandard  # type: ignore[import-untyped]

HANDLES = {
    "MPI_Comm": "comm",
    "MPI_Datatype": "type",
    "MPI_Group": "group",
    "MPI_Op": "op",
    "MPI_Request": "request",
    "MPI_Message": "message",
    "MPI_Info": "info",
    "MPI_Errhandler": "errhandler",
    "MPI_Win": "win",
    "MPI_File": "file",
    "MPI_Session": "session",
}
# Room for strings in the canonical ABI, which another MPI's may exceed.
STRING_BYTES = {
    "MPI_MAX_PROCESSOR_NAME": 256,
    "MPI_MAX_ERROR_STRING": 256,
    "MPI_MAX_OBJECT_NAME": 64,
    "MPI_MAX_LIBRARY_VERSION_STRING": 256,
    "MPI_MAX_PORT_NAME": 1024,
}


@dataclass(frozen=True)
class Param:
    name: str
    base: str  # "int", "MPI_Comm", "void", ...
    pointer: int  # levels of *, an array counts as one
    out: bool
    inout: bool
    const: bool
    length: str | None  # of an array or string, as the standard words it
    declaration: str  # C
    kind: str  # the standard's: "RANK", "COMBINER", ...

    @property
    def handle(self) -> str | None:
        return HANDLES.get(self.base)

    @property
    def is_array(self) -> bool:
        return self.length is not None and self.base != "char"


@dataclass(frozen=True)
class Function:
    name: str  # "MPI_Send"
    index: int  # its hypercall index: stable while the ABI table is
    params: tuple[Param, ...]
    result: str  # "int", "double"
    known: bool  # the standard gives its parameters

    @property
    def short(self) -> str:
        return self.name.removeprefix("MPI_")

    @property
    def communicator(self) -> str | None:
        """The parameter whose error handler hears of a failure."""
        for param in self.params:
            if param.base == "MPI_Comm" and param.pointer == 0:
                return param.name
        return None


@dataclass(frozen=True)
class Symbol:
    name: str
    size: int
    handle: str | None = None
    id: int = 0
    mpi_name: str = ""
    fortran: int = -1  # mpif.h's number of a handle


@dataclass(frozen=True)
class Abi:
    functions: tuple[Function, ...]  # MPI_*, sorted; index = place
    internals: tuple[str, ...]  # every other function the library exports
    data: tuple[Symbol, ...]
    absent: tuple[str, ...]  # of the standard, and not there
    upper: tuple[Function, ...] = ()  # done in the upper half, by functions that have an index

    def all(self) -> tuple[Function, ...]:
        return self.functions + self.upper


def _param(source: Any) -> Param:
    length = source._parseset["length"]
    shape = str(source.array)
    base = str(source.base_type)
    declaration = str(source)
    if base == "\\ldots":
        base, declaration = "...", "..."
    return Param(
        name=str(source.name),
        base=base,
        pointer=int(source.pointer_level) + bool(shape),
        out=source.direction.value in ("OUT", "INOUT"),
        inout=source.direction.value == "INOUT",
        const=bool(source.constant),
        length=length[0] if isinstance(length, list) else length,
        declaration=declaration,
        kind=str(source._parseset["kind"]),
    )


def _standard() -> dict[str, Any]:
    """By name, with the bindings of large counts."""
    pympistandard.use_api_version(1)
    found: dict[str, Any] = {}
    for procedure in pympistandard.all_iso_c_procedures():
        express = procedure.express
        found[str(express.iso_c.name)] = express.iso_c
        if procedure.has_embiggenment():
            found[str(express.embiggen.iso_c.name)] = express.embiggen.iso_c
    return found


def _function(name: str, index: int, source: Any) -> Function:
    params = tuple(_param(p) for p in source.parameters) if source else ()
    return Function(
        name, index, params, str(source.return_type) if source else "int", source is not None
    )


def load(table: Path) -> Abi:
    """TABLE of Open MPI 4.1, whose functions have the numbers of their places, with what came later
    (additions.symbols, which is only ever added to): the numbers are in recordings."""
    names: list[str] = []
    data: list[Symbol] = []
    additions = table.with_name("additions.symbols").read_text()
    for line in table.read_text().splitlines() + additions.splitlines():
        match line.split():
            case ["F", name] if name not in additions.split():
                names.append(name)
            case ["D", name, size]:
                data.append(Symbol(name, int(size, 16)))
            case ["P", name, size, handle, number, mpi_name, fortran]:
                identity = (handle, int(number), mpi_name, int(fortran))
                data.append(Symbol(name, int(size, 16), *identity))
    standard = _standard()
    mpi = sorted(name for name in names if name.startswith("MPI_"))
    later = [line.split() for line in additions.splitlines() if line[:1] in "FU"]
    mpi += [name for sort, name in later if sort == "F"]
    functions = tuple(_function(name, index, standard.get(name)) for index, name in enumerate(mpi))
    upper = tuple(_function(name, -1, standard[name]) for sort, name in later if sort == "U")
    aliases = {"P" + name for name in mpi}
    internals = [n for n in names if not n.startswith("MPI_") and n not in aliases]
    internals += [line[2:] for line in additions.splitlines() if line.startswith("I ")]
    return Abi(
        functions,
        tuple(internals),
        tuple(data),
        tuple(sorted(standard.keys() - set(names) - {name for _, name in later})),
        upper,
    )
