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

from gen import rows_large  # noqa: E402
from gen.api import Abi, load  # noqa: E402
from gen.rows import ROWS  # noqa: E402
from gen.rows_persistent import is_init, nonblocking  # noqa: E402
from gen.stub import EXTRAS  # noqa: E402

_HEAD = """\
# MPI functions

Made from `interposer/mpi/gen` and the standard's list of functions by `python -m tools.mpi_docs`;
do not edit.

Every function of the MPI standard is here, and each has its `PMPI_` name too. The words mean:

* **recorded**: the call goes to the MPI library below, and rdb logs its answer. In a replay the
  log answers.
* **in the stub**: upper code does it. The call makes no event of its own and needs no log.
  **by others**: this code calls other MPI functions, which make events.
* **by hand**: the code of that side is written by hand, not made from the standard.
* **as** another function (`MPI_Send_c`): the call is that one with larger numbers, also in the
  log.
* **each start is** a function: a persistent collective is a nonblocking one at each start.

Functions with large counts also exist over an MPI that has none (Open MPI 4.1) while the counts
fit in an int. Over such an MPI messages may have more elements, too; any other count that does
not fit ends the program with exit code 125, the name and the reason.

A function that is not there yet, or that the library below does not have, ends the program with
exit code 125 and its name when it is called.
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


def _upper(name: str, abi: Abi) -> str:
    """Of a function that others do."""
    if is_init(name):
        return f"each start is `{nonblocking(name, abi).name}`"
    return f"as `{rows_large.small_of(name)}`" if name.endswith("_c") else "in the stub, by others"


def coverage() -> dict[str, str]:
    """Each function of the standard, and how it is done or why it is not."""
    abi: Abi = load(MPI / "abi/openmpi-4.1.symbols")
    rows_large.rows(abi)
    found = {name: "in the stub" if name in EXTRAS else ABSENT for name in abi.absent}
    for function in abi.functions:
        row = ROWS.get(function.name)
        if function.known or row:
            found[function.name] = _HOW[row.stub, row.real] if row else NOT_YET
    for function in abi.upper:
        found[function.name] = _upper(function.name, abi)
    return found


_BECAUSE = {
    "sessions": "their buffers are those of communicators, below",
    "handles as integers": "in programs of MPICH and of the MPI-5 ABI, whose headers have them",
    "the ABI of MPI-5": "in programs of MPICH and of the MPI-5 ABI; Fortran's side is set already, "
    "as gfortran has it",
    "buffers of communicators": "of MPI-4.1; no MPI that rdb is built with has them",
}
_LATER = """
## Additions of MPI-4 and MPI-5

A call is logged by its number in the list of Open MPI 4.1; `abi/additions.symbols` continues that
list. So each recording means the same over every MPI. A function below is in neither list. It
ends the program with its name, also over an MPI that has it.
"""
_ADDITIONS = {
    "handles as integers": ("fromint", "toint"),
    "sessions": ("Session", "session_pset", "from_group"),
    "partitioned communication": ("Psend_init", "Precv_init", "Pready", "Parrived"),
    "persistent collectives": ("_init",),
    "events of the tool interface": ("MPI_T_",),
    "the ABI of MPI-5": ("Abi_",),
    "buffers of communicators": ("buffer", "Buffer"),
    "parts of a status": ("Status_",),
}


def _by_addition(names: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        what = next(
            (w for w, words in _ADDITIONS.items() if any(x in name for x in words)), "others"
        )
        found.setdefault(what, []).append(name)
    return {what: found[what] for what in [*_ADDITIONS, "others"] if what in found}


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
    parts += ["\n## Not done\n", *([f"- `{name}`" for name in missing] or ["None."])]
    parts += [_LATER]
    for what, names in _by_addition(absent).items():
        why = f" ({_BECAUSE[what]})" if what in _BECAUSE else ""
        parts += [f"- {what}{why}: {', '.join(f'`{name}`' for name in names)}"]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
