"""What several processes write to the board at once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from rdb.coordinate import board
from rdb.coordinate.board import Board, Verdict, Writing, board_path, create_board
from rdb.process_stat import process_stat

GENERATIONS = 3000


@pytest.fixture
def boards(tmp_path: Path) -> list[Board]:
    """The same one, as several processes have it."""
    create_board(board_path(tmp_path), 1)
    return [Board(board_path(tmp_path)) for _ in range(2)]


def together(*works: object) -> None:
    threads = [threading.Thread(target=work) for work in works]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("first", [Verdict.GO, Verdict.NO])
def test_the_first_verdict_stands(first: Verdict, boards: list[Board]) -> None:
    second = Verdict.NO if first is Verdict.GO else Verdict.GO
    assert boards[0].decide(5, first, "the reason")
    assert not boards[1].decide(5, second, "another reason")
    assert not boards[1].decide(4, first)
    assert boards[0].decide(5, first, "a later reason")
    assert (boards[0].verdict(5), boards[0].why) == (first, "the reason")


def test_a_verdict_between_a_look_and_a_refusal(
    boards: list[Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when ranks agree just as the time of `rdb checkpoint` is over."""
    boards[0].decide(1, Verdict.GO)
    monkeypatch.setattr(boards[1], "verdict", lambda generation: Verdict.OPEN)
    assert not boards[1].decide(1, Verdict.NO)
    assert boards[0].verdict(1) is Verdict.GO


def test_two_that_decide_at_once(boards: list[Board]) -> None:
    """Each generation has one verdict, and both know which."""
    won: list[list[bool]] = [[], []]
    meet = threading.Barrier(2)

    def decides(number: int, verdict: Verdict) -> None:
        for generation in range(1, GENERATIONS):
            meet.wait()
            won[number].append(boards[number].decide(generation, verdict))

    together(lambda: decides(0, Verdict.GO), lambda: decides(1, Verdict.NO))
    assert all(a != b for a, b in zip(*won, strict=True))


def test_two_that_want_at_once(boards: list[Board]) -> None:
    """What is wanted never goes back."""
    seen: list[int] = []

    def wants(board: Board, step: int) -> None:
        for generation in range(step, GENERATIONS, step):
            board.want(generation)
            seen.append(board.wanted - generation)

    together(lambda: wants(boards[0], 1), lambda: wants(boards[1], 2))
    assert min(seen) >= 0
    assert boards[0].wanted == GENERATIONS - 1


def test_a_writer_that_hangs_is_given_up(
    boards: list[Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what gets no processor time counts, however long the rest takes."""
    now_s = used = 0
    stat = process_stat(os.getpid())
    assert stat is not None
    monkeypatch.setattr(boards[0], "slots", lambda: [SimpleNamespace(writer=os.getpid())])
    monkeypatch.setattr(boards[0], "may_finish", lambda generation: True)
    monkeypatch.setattr(board, "process_stat", lambda pid: stat._replace(used_ticks=used))
    monkeypatch.setattr(board, "time", SimpleNamespace(monotonic=lambda: now_s))
    writing = Writing(boards[0])
    for _ in range(100):
        now_s, used = now_s + 9, used + 1
        assert writing.goes_on()
    now_s += 9
    assert writing.goes_on()
    now_s += 1
    assert not writing.goes_on()


def test_processor_time_is_the_kernels() -> None:
    def ticks() -> float:
        used = os.times()
        return (used.user + used.system) * os.sysconf("SC_CLK_TCK")

    before, stat, after = ticks(), process_stat(os.getpid()), ticks()
    assert stat is not None and before - 2 <= stat.used_ticks <= after + 2  # each part is rounded
