"""Every function of the MPI standard is in the stub, and on the page that says how."""

from __future__ import annotations

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from rdb.paths import mpi_dir
from tools import mpi_docs


def test_the_page_is_what_the_tables_say() -> None:
    assert mpi_docs.PAGE.read_text(encoding="utf-8") == mpi_docs.text(), (
        "docs/mpi.md is stale: python -m tools.mpi_docs"
    )


def test_stub_has_every_function_of_the_standard() -> None:
    """A program that mentions one which is not there starts all the same."""
    with (mpi_dir() / "libmpi.so.40").open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        exported = {s.name for s in table.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"}
    wanted = mpi_docs.coverage().keys()
    assert len(wanted) > 500
    assert {n for n in wanted if n not in exported or f"P{n}" not in exported} == set()
