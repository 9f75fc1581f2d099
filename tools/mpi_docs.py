"""Makes docs/mpi.md from the tables of interposer/mpi/gen and the standard's list of functions.

Run: .venv/bin/python3 -m tools.mpi_docs
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "mpi.md"
MPI = ROOT / "interposer" / "mpi"
sys.path.insert(0, str(MPI))

from gen.api import Abi, load  # noqa: E402
from gen.rows import ROWS  # noqa: E402
from gen.stub import EXTRAS  # noqa: E402

_HEAD = """\
# MPI functions

Made from `interposer/mpi/gen` and the standard's list of functions by `python -m tools.mpi_docs`;
do not edit.

Every function of the MPI standard (C bindings without those of large counts) is here. What is
**recorded** calls the MPI library below and logs what it answered; in a replay the log answers.
What is done **in the stub** is upper code: it makes no event and needs no log. For each there is
the `PMPI_` name too. A function that is not there yet, or that the library below does not have,
ends the program with exit code 125 and its name when it is called.
"""
_HOW = {
    ("auto", "auto"): "recorded",
    ("auto", "hand"): "recorded; the lower side by hand",
    ("hand", "auto"): "recorded; the stub by hand",
    ("hand", "hand"): "recorded; both sides by hand",
    ("hand", "none"): "in the stub",
    ("auto", "none"): "in the stub",
}
NOT_YET = "not yet"
ABSENT = "not in Open MPI 4.1"


def coverage() -> dict[str, str]:
    """Each function of the standard, and how it is done or why it is not."""
    abi: Abi = load(MPI / "abi/openmpi-4.1.symbols")
    found = {name: "in the stub" if name in EXTRAS else ABSENT for name in abi.absent}
    for function in abi.functions:
        row = ROWS.get(function.name)
        if function.known or row:
            found[function.name] = _HOW[row.stub, row.real] if row else NOT_YET
    return found


def _table(rows: dict[str, str]) -> Iterator[str]:
    yield "| function | how |\n|---|---|"
    yield from (f"| `{name}` | {rows[name]} |" for name in sorted(rows))


def text() -> str:
    """The whole page."""
    rows = coverage()
    done = {name: how for name, how in rows.items() if how not in (NOT_YET, ABSENT)}
    missing = sorted(name for name, how in rows.items() if how == NOT_YET)
    absent = sorted(name for name, how in rows.items() if how == ABSENT)
    parts = [_HEAD, "## Supported\n", *_table(done)]
    parts += ["\n## Not yet\n", *([f"- `{name}`" for name in missing] or ["None."])]
    parts += ["\n## Not in the library below\n"]
    parts += ["Open MPI 4.1 does not have these additions of MPI-4 and MPI-5.\n"]
    parts += [f"- `{name}`" for name in absent]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
