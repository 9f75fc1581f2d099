"""Which answers of several ranks are about one statement, and how the others are shown."""

from __future__ import annotations

import io

from rich.console import Console

from rdb.console import parallel
from rdb.console.likewise import by_statement, show_likewise, statement


def test_a_statement_is_the_same_whatever_its_arguments() -> None:
    stacks = [[f"#0  f (a={n}) at a.c:3", f"#1  0x{n}e in main () at a.c:9"] for n in range(2)]
    assert statement(stacks[0], "a.c:3") == statement(stacks[1], "a.c:3")
    assert statement(stacks[0], "a.c:3") != statement(stacks[0], "a.c:4")
    assert statement(stacks[0], None) != statement(stacks[0][:1], None)
    other = ["#0  f (a=0) at a.c:3", "#1  0x0e in main () at a.c:10"]
    assert statement(stacks[0], "a.c:3") != statement(other, "a.c:3")


def test_groups_keep_the_order_of_their_first_members() -> None:
    assert by_statement([("b", 1), ("a", 2), ("b", 3)]) == [[1, 3], [2]]


def test_many_ranks_share_a_line() -> None:
    out = Console(file=io.StringIO(), width=200)
    show_likewise([(rank, str(rank), f"at {rank}") for rank in range(1, 9)], out)
    show_likewise([(rank, str(rank), f"at {rank}") for rank in range(1, 65)], out)
    assert isinstance(out.file, io.StringIO)
    lines = out.file.getvalue().splitlines()
    assert lines[:8] == [f"likewise in rank {rank}, at {rank}" for rank in range(1, 9)]
    assert lines[8:] == [*lines[:7], "likewise in 57 more ranks: 8-64"]


def test_what_the_extension_says_of_a_change() -> None:
    """Only what an event changed has no statement of its own: each rank gets its own message."""
    said = {
        "Changed by a.c:3": "a.c:3",
        "Changed at a.c:3 or later; it was false after event 7": "a.c:3",
        "Changed by event 7: MPI_Recv()": None,
        "By event 7: MPI_Recv()": None,
    }
    for line, expected in said.items():
        text = f"x turned false in rank 0 at 6:0x1:1\n{line}\n#0  f () at a.c:3\n"
        assert parallel._statement(text) == statement(["#0  f () at a.c:3"], expected), line
