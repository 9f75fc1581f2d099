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
    absent: tuple[str, ...]  # of the standard, and not in this library


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
    pympistandard.use_api_version(1)
    return {
        str(p.express.iso_c.name): p.express.iso_c for p in pympistandard.all_iso_c_procedures()
    }


def load(table: Path) -> Abi:
    names: list[str] = []
    data: list[Symbol] = []
    for line in table.read_text().splitlines():
        match line.split():
            case ["F", name]:
                names.append(name)
            case ["D", name, size]:
                data.append(Symbol(name, int(size, 16)))
            case ["P", name, size, handle, number, mpi_name, fortran]:
                identity = (handle, int(number), mpi_name, int(fortran))
                data.append(Symbol(name, int(size, 16), *identity))
    standard = _standard()
    functions = []
    mpi = sorted(name for name in names if name.startswith("MPI_"))
    for index, name in enumerate(mpi):
        source = standard.get(name)
        params = tuple(_param(p) for p in source.parameters) if source else ()
        result = str(source.return_type) if source else "int"
        functions.append(Function(name, index, params, result, source is not None))
    aliases = {"P" + name for name in mpi}
    internals = tuple(n for n in names if not n.startswith("MPI_") and n not in aliases)
    return Abi(
        tuple(functions), internals, tuple(data), tuple(sorted(standard.keys() - set(names)))
    )
