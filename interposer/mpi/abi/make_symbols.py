"""Write the symbol table of an Open MPI library: `make_symbols.py libmpi.so.40 mpi.h
mpif-handles.h mpif-io-handles.h`.

The table is checked in (openmpi-4.1.symbols), so that building the stub needs neither pyelftools
nor that Open MPI.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

CLASSES = {
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
# No MPI name: must exist, but Open MPI 4.1 offers them to no C program.
UNNAMED = {"ompi_mpi_errors_throw_exceptions": "errhandler"}
# Of MPI-1: mpi.h may refuse the names, but the library has the types. Programs of MPICH use them.
REMOVED = {"ompi_mpi_ub": ("type", "MPI_UB"), "ompi_mpi_lb": ("type", "MPI_LB")}
REMOVED_NUMBERS = {"MPI_UB": "3", "MPI_LB": "4"}
FORTRAN = re.compile(r"parameter \((MPI_\w+)=(\d+)\)")
HANDLE = re.compile(r"define (MPI_\w+) +OMPI_PREDEFINED_GLOBAL\( *(MPI_\w+), *(\w+)\)")


def predefined(header: str) -> list[tuple[str, str, str]]:
    """(symbol, class, MPI name): null handles first, then as mpi.h lists them."""
    found: dict[str, tuple[str, str, str]] = {}
    for name, kind, symbol in HANDLE.findall(header):
        if symbol not in UNNAMED and symbol not in REMOVED:
            found.setdefault(symbol, (symbol, CLASSES[kind], name))
    return sorted(found.values(), key=lambda row: not row[2].endswith("_NULL"))


def symbols(path: str) -> dict[str, tuple[str, int]]:
    with open(path, "rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        return {
            symbol.name: (symbol["st_info"]["type"], symbol["st_size"])
            for symbol in table.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name
        }


def main(library: str, header: str, *fortran: str) -> None:
    numbers = {n: i for path in fortran for n, i in FORTRAN.findall(Path(path).read_text())}
    exported = symbols(library)
    file_name = Path(library).resolve().name
    print(f"# Made by make_symbols.py from {file_name} and its mpi.h (Debian 12).")
    print(
        "# F function | D data size | P data size class id name Fortran-number"
        " (id 0: no handle of a C program)"
    )
    last: dict[str, int] = {}
    handles = {symbol: (kind, name) for symbol, kind, name in predefined(Path(header).read_text())}
    handles |= REMOVED
    numbers |= REMOVED_NUMBERS
    for symbol, (kind, name) in handles.items():
        last[kind] = last.get(kind, 0) + 1
        print(f"P {symbol} {exported[symbol][1]:#x} {kind} {last[kind]} {name} {numbers[name]}")
    for symbol, kind in UNNAMED.items():
        print(f"P {symbol} {exported[symbol][1]:#x} {kind} 0 - -1")
    for symbol in sorted(exported):
        sort, size = exported[symbol]
        if sort == "STT_FUNC":
            print(f"F {symbol}")
        elif sort == "STT_OBJECT" and symbol not in handles and symbol not in UNNAMED:
            print(f"D {symbol} {size:#x}")


if __name__ == "__main__":
    main(*sys.argv[1:])
