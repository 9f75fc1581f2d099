"""Queues and wait-for graphs of many ranks in few lines; scales of pictures; unknown commands."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rdb.cli.parser import dispatch
from rdb.console.plots import draw
from rdb.console.queues import show_queues
from rdb.console.tables import plain_table, show_table
from rdb.console.waits import show_deadlock
from rdb.errors import Usage
from rdb.recording.messages.queues import Message, Posted, Queues
from rdb.recording.messages.wait_graph import Call, Need, Waiter, WaitFor
from rdb.session.deadlock import Deadlock
from rdb.session.state import Place


def _console() -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, width=100, soft_wrap=True), text


def _scattered(ranks: int) -> list[Queues]:
    sent = [Message(0, dest, 3, "W", 4, 10 + dest, None) for dest in range(1, ranks)]
    first = Queues(0, 40, (), (), tuple(sent), ())
    others = [
        Queues(
            one.dest, 5 + one.dest % 2, (Posted(one.dest, 4, 0, 7, "W", 256, 1),), (one,), (), ()
        )
        for one in sent
    ]
    return [first, *others]


def test_queues_that_are_alike_share_lines() -> None:
    out, text = _console()
    show_queues(_scattered(16), out)
    lines = text.getvalue().splitlines()
    assert lines[0].startswith("rank 0, event 40: 0 receives posted,")
    assert lines[2].split() == ["sent", "0", "1-15", "3", "4", "11..25", "W"]
    assert lines[3].startswith("ranks 1-15, events 5..6: 1 receive posted,")
    assert lines[5].split() == ["posted", "0", "1-15", "7", "1", "element", "since", "4", "W"]
    assert lines[6].split() == ["unexpected", "0", "1-15", "3", "4", "11..25", "W"]
    assert len(lines) == 7


def test_two_messages_of_one_channel_stay_two() -> None:
    out, text = _console()
    two = tuple(Message(0, 1, 3, "W", 4, at, at + 1) for at in (1, 2, 3, 4))
    show_queues([Queues(1, 9, (), (), (), two)], out)
    assert len([line for line in text.getvalue().splitlines() if "received " in line]) == 1 + 4


def test_many_messages_of_one_channel_are_counted() -> None:
    out, text = _console()
    many = tuple(Message(0, 1, 3, "W", 4, at, None) for at in range(1, 30))
    other = Message(2, 1, 3, "W", 4, 7, None)
    show_queues([Queues(1, 9, (), (*many, other), (), many)], out)
    lines = [line.split() for line in text.getvalue().splitlines()]
    assert lines[2] == ["29", "unexpected", "0", "1", "3", "4", "1..29", "W"]
    assert lines[3] == ["unexpected", "2", "1", "3", "4", "7", "W"]
    assert [line[0] for line in lines[4:]] == ["received"] * 29


def _ring(ranks: int) -> Deadlock:
    def waits(rank: int) -> Waiter:
        left = (rank - 1) % ranks
        call = Call("MPI_Recv", f"MPI_Recv(buf=0x10, source={left}, tag=7)", {})
        need = Need(f"a message from rank {left}, tag 7", (left,))
        return Waiter(rank, 3, call, (need,), False, True)

    every = tuple(range(ranks))
    graph = WaitFor(tuple(map(waits, every)), (), {}, every, every[::-1])
    return Deadlock(graph, dict.fromkeys(every, Place("main", "ring.c", 31)), {})


def test_a_ring_of_many_is_one_entry() -> None:
    out, text = _console()
    show_deadlock(_ring(64), out)
    lines = text.getvalue().splitlines()
    assert lines[0] == "deadlock of 64 ranks: 0-63"
    assert lines[1].startswith("cycle: rank 63 -> rank 62 -> ") and lines[1].endswith(
        "rank 56 -> 56 more -> rank 63"
    )
    assert lines[2] == "ranks 0-63, event 3, main () at ring.c:31"
    assert lines[3] == "  MPI_Recv(buf=0x10, source=..., tag=7)"
    assert lines[4] == "  waits for a message from another rank, tag 7:"
    assert lines[5].startswith("    0 for 63, 1 for 0, 2 for 1,") and lines[5].endswith("56 more")
    assert len(lines) == 6


def test_a_ring_of_few_is_an_entry_each() -> None:
    out, text = _console()
    show_deadlock(_ring(3), out)
    assert text.getvalue().count("  waits for a message from rank ") == 3


def test_ranks_that_wait_for_the_same_are_one_entry() -> None:
    out, text = _console()
    barrier = Call("MPI_Barrier", "MPI_Barrier(comm=COMM_WORLD)", {})
    need = Need("MPI_Barrier on MPI_COMM_WORLD", (0,), notes=("rank 0 has ended (exited 1)",))
    waiters = tuple(Waiter(rank, rank, barrier, (need,), False, True) for rank in (1, 2, 3))
    graph = WaitFor(waiters, (), {0: "exited 1", 4: "exited 1"}, (1, 2, 3))
    places = dict.fromkeys((1, 2, 3), Place("main", "b.c", 9))
    show_deadlock(Deadlock(graph, places, {5: "torn", 6: "torn"}), out)
    assert text.getvalue().splitlines()[1:] == [
        "ranks 1-3, events 1..3, main () at b.c:9",
        "  MPI_Barrier(comm=COMM_WORLD)",
        "  waits for MPI_Barrier on MPI_COMM_WORLD (rank 0)",
        "    rank 0 has ended (exited 1)",
        "ranks 0,4 have ended: exited 1",
        "ranks 5-6 are not known: torn",
    ]


def test_a_need_of_unknown_ranks_names_none() -> None:
    out, text = _console()
    probe = Call("MPI_Iprobe", "MPI_Iprobe(source=ANY)", {})
    waiter = Waiter(0, 7, probe, (Need("what MPI_Iprobe tests", ()),), False, True)
    graph = WaitFor((waiter,), (), {}, (0,))
    show_deadlock(Deadlock(graph, {0: Place("main", "a.c", 1)}, {}), out)
    assert text.getvalue().splitlines()[-1] == "  waits for what MPI_Iprobe tests"


def test_scales_name_a_number_once_and_tell_two_apart() -> None:
    flat = draw({0: 2.0, 1: 2.0}, 40)
    assert [line.split(" ┤")[0].strip() for line in flat[:6]] == ["2", "", "", "", "", ""]
    near = draw({0: 1e9 + 1, 1: 1e9 + 2}, 60)
    assert near[0].startswith("1000000002 ┤") and near[5].startswith("1000000001 ┤")
    assert max(map(len, draw({rank: 1.0 for rank in range(1000)}, 40))) <= 40


def test_an_unknown_command_is_not_answered_with_all_of_them() -> None:
    with pytest.raises(Usage, match="there is no command 'nosuch'") as strange:
        dispatch(["nosuch"])
    assert strange.value.hint == "`rdb --help`"
    with pytest.raises(Usage) as near:
        dispatch(["atach", "job"])
    assert near.value.hint == "did you mean `rdb attach`? `rdb --help`"


WORDS = ("rank", "ended", "events", "stands in")
ROW = ("12", "signal 6", "1,352", "main () at heat.c:191, inside __pthread_kill_implementation")


@pytest.mark.parametrize("width", [12, 20, 30, 40, 60, 100])
def test_a_table_that_has_no_room_loses_nothing(width: int) -> None:
    out = Console(file=io.StringIO(), width=width, soft_wrap=True)
    table = plain_table(*WORDS)
    table.add_row(*ROW)
    with out.capture() as captured:
        show_table(table, out)
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    joined = "".join("".join(lines).split())
    for text in (*WORDS, *ROW):
        assert "".join(text.split()) in joined, captured.get()
