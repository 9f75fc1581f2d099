"""The process that decides for the ranks of a host."""

from __future__ import annotations

import asyncio
import os
import struct
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from rdb.coordinate import relay
from rdb.coordinate.board import Board, State, Verdict, board_path, create_board
from rdb.coordinate.centre import centre_address
from rdb.coordinate.coordinated import committed
from rdb.coordinate.relay import Centre
from rdb.wire.channel import Closed, Message


def _written(board: Board, generation: int) -> None:
    """All ranks have written this checkpoint."""
    host = os.uname().nodename.encode()
    slot = struct.pack("<Ii64s7Q", State.RUNS, os.getpid(), host, *[0] * 6, generation)
    board.put_raw(0, slot)
    board.want(generation)
    board.decide(generation, Verdict.GO)


def test_a_record_of_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    """That checkpoint has failed; the next one is taken."""
    path = board_path(tmp_path, os.uname().nodename)
    create_board(path, 1)
    centre, board = Centre(str(tmp_path), 1, os.getpid()), Board(path)
    (tmp_path / "commit-1").mkdir()
    _written(board, 1)
    asyncio.run(centre._step())
    assert board.slot(0).failed == 1
    assert not centre.board.busy()
    assert [one.name for one in tmp_path.glob(".commit*")] == []
    (tmp_path / "commit-1").rmdir()
    _written(board, 2)
    asyncio.run(centre._step())
    assert [one.number for one in committed(tmp_path)] == [2]
    assert board.committed == 2


def test_it_listens_on_the_address_by_which_others_reach_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listens: list[str] = []

    async def listen(host: str, *_: object) -> tuple[None, int]:
        listens.append(host)
        return None, 4711

    create_board(board_path(tmp_path, os.uname().nodename), 1)
    monkeypatch.setattr(relay, "own_address", lambda: ("192.0.2.77", "192.0.2.77"))
    monkeypatch.setattr(relay, "listen", listen)
    monkeypatch.setattr(relay, "job_identity", lambda job: None)
    address = asyncio.run(Centre(str(tmp_path), 1, os.getpid()).listen())
    assert relay._claim(str(tmp_path), *address)
    assert listens == ["192.0.2.77"]
    name = os.uname().nodename
    assert centre_address(tmp_path) == {"name": name, "host": "192.0.2.77", "port": 4711}


def test_what_happens_while_a_host_is_greeted(tmp_path: Path) -> None:
    path = board_path(tmp_path, os.uname().nodename)
    create_board(path, 2)
    centre = Centre(str(tmp_path), 2, os.getpid())

    class Slow:
        """While the first message is on its way another host says that its rank runs."""

        sent: ClassVar[list[Message]] = []

        async def send(self, message: Message, data: bytes = b"") -> None:
            self.sent.append(message)
            if len(self.sent) == 1:
                slot = struct.pack("<Ii64s", State.RUNS, 1, b"other").ljust(200, b"\0")
                await centre._heard({1: slot}, "other")

        async def receive(self) -> tuple[Message, bytes]:
            raise Closed("it has ended")

    with pytest.raises(Closed):
        asyncio.run(centre._serve(cast(Any, Slow()), "slow"))
    assert [one["slots"] for one in Slow.sent] == [[], [[1, 200]]]
