"""The server asks a replica once for each page of memory that GDB reads."""

from __future__ import annotations

import pytest

from rdb.server.pages import Pages

START, END = 0x1000, 0x2800  # mapped: a page and a half
MEMORY = bytes(range(256)) * ((END - START) // 256)


class Replica:
    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.memory = bytearray(MEMORY)

    def read(self, addr: int, length: int) -> bytes:
        self.asked.append((addr, length))
        return bytes(self.memory[addr - START : addr - START + length]) if addr >= START else b""


def test_pieces_of_a_page_are_read_once() -> None:
    replica = Replica()
    pages = Pages(replica.read)
    for addr in (0x1000, 0x1010, 0x1FF8, 0x1FFF):
        length = min(8, 0x2000 - addr)
        assert pages.read(1, addr, length) == MEMORY[addr - START :][:length]
    assert replica.asked == [(0x1000, 0x1000)]


@pytest.mark.parametrize(
    ("addr", "length"),
    [(0x0FF8, 4), (0x1FFC, 8), (0x27F0, 16), (0x27F8, 16), (0x2800, 1), (0x1000, 0x3000)],
)
def test_what_crosses_or_leaves_a_page_is_as_the_replica_says(addr: int, length: int) -> None:
    replica = Replica()
    pages = Pages(replica.read)
    pages.read(1, 0x1800, 8)
    assert pages.read(1, addr, length) == Replica().read(addr, length)


def test_another_stop_and_a_change_are_read_again() -> None:
    replica = Replica()
    pages = Pages(replica.read)
    for serial, forgotten in ((1, False), (2, False), (2, True)):
        if forgotten:
            pages.forget()
        replica.memory[0] += 1
        assert pages.read(serial, 0x1000, 1) == bytes([replica.memory[0]])
