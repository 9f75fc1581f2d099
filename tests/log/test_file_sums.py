"""Sums of stored files: a hole counts as the zeros that it is read as, and is not read."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import pytest

from rdb.recording.stored import file_sums

PIECE = 64 << 10
LONG = 32 << 20
PLACES = [
    (),
    (0,),
    (1,),
    (PIECE - 1, PIECE),
    (5 * PIECE + 7, 300 * PIECE),
    (LONG - 1,),
]


def in_page_cache(path: Path) -> int:
    """How many of its pages: mincore(2)."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        pages = (ctypes.c_ubyte * (len(mapped) // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(mapped)
        done = ctypes.CDLL(None).mincore(
            ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(len(mapped)), pages
        )
        del start
        assert done == 0
        return sum(page & 1 for page in pages)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("beyond", [0, 1, PIECE, PIECE + 5])
def test_a_hole_is_zeros(places: tuple[int, ...], beyond: int, tmp_path: Path) -> None:
    """A byte at each of these places, and an end that is so far beyond the last of them."""
    sparse, dense = tmp_path / "sparse-s0.00000000", tmp_path / "dense-s0.00000000"
    with sparse.open("wb") as file:
        for place in places:
            file.seek(place)
            file.write(b"x")
        file.truncate(file.tell() + beyond)
    dense.write_bytes(sparse.read_bytes())
    sums = file_sums(sparse)
    assert sums == file_sums(dense) and sums is not None
    assert sums[1][0] == sparse.stat().st_size


def test_a_hole_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse-s0.00000000"
    with path.open("wb") as file:
        file.truncate(LONG)
    assert file_sums(path) is not None
    assert in_page_cache(path) == 0
