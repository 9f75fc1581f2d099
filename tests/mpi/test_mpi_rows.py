"""A function of MPI is a row of interposer/mpi/gen, and a word in lists of the lower side: which of
them has been forgotten."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

MPI = Path(__file__).parents[2] / "interposer" / "mpi"
sys.path.insert(0, str(MPI))

from gen import rows_large  # noqa: E402
from gen.api import load  # noqa: E402
from gen.rows import ROWS  # noqa: E402

ABI = load(MPI / "abi/openmpi-4.1.symbols")
rows_large.rows(ABI)
RECORDED = {
    function.name.removeprefix("MPI_"): function
    for function in ABI.functions
    if function.name in ROWS and ROWS[function.name].real != "none"
}
# Two processes alone, or each by itself.
POINT_TO_POINT = {"Send", "Ssend", "Rsend", "Bsend"}
# Not by all ranks of the communicator that they name, or with processes of another job.
NOT_BY_ALL = {"Comm_set_info", "Comm_create_group", "Comm_accept", "Comm_connect"}


def _words(source: str, after: str) -> list[str]:
    """The names in the strings of the statement that begins there."""
    text = (MPI / "lower" / source).read_text()
    statement = text[text.index(after) :].split(";", 1)[0]
    return re.findall(r"\w+", " ".join(re.findall(r'"([^"]*)"', statement)))


def _collectives(makes: bool) -> set[str]:
    """By their rows: they wait for the others, nonblocking ones later."""
    found = set()
    for name, function in RECORDED.items():
        row = ROWS[function.name]
        waits = (row.blocks or row.pending) and (makes or not row.made)
        if waits and any(one.handle == "comm" and not one.pointer for one in function.params):
            found.add(name)
    return {one for one in found if not one.endswith("_c")} - POINT_TO_POINT - NOT_BY_ALL


def test_a_restart_knows_what_becomes_of_it() -> None:
    kinds = Counter(
        re.findall(
            r"\w+",
            " ".join(
                re.findall(r'"([^"]*)"', (MPI / "lower/restart/restart_kinds.def").read_text())
            ),
        )
    )
    assert [one for one, times in kinds.items() if times > 1] == []
    refused = {one for one in RECORDED if one.startswith("T_")} | {"Abort"}
    small = {one for one in RECORDED if not one.endswith("_c")}
    assert small - kinds.keys() == refused, "restart/restart_kinds.def"


@pytest.mark.parametrize(
    ("source", "after", "makes", "but"),
    [
        ("checkpoint/coordinated.c", "collectives[] =", True, ""),
        ("checkpoint/coordinated_inside.c", "names[] =", False, "^(I|Neighbor)"),
        ("order/order_record.c", "bool order_collective", False, "^I"),
    ],
)
def test_a_collective_is_listed(source: str, after: str, makes: bool, but: str) -> None:
    wanted = {one for one in _collectives(makes) if not (but and re.match(but, one))}
    makers = {one for one in wanted if not makes and one.startswith(("Dist_", "Graph_"))}
    assert wanted - makers - set(_words(source, after)) == set(), f"mpi/lower/{source}"
