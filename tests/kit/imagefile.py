"""Image files, read for tests as interposer/image/image_format.h has them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_HEAD = struct.Struct("<QIIQQIIIIQ")
_SECTION = struct.Struct("<QQII")
_RUN = struct.Struct("<QQIIQII")
SECTIONS = ("state", "threads", "regions", "runs")


@dataclass(frozen=True)
class Run:
    addr: int
    length: int
    image: int
    stored: int
    off: int


@dataclass(frozen=True)
class Image:
    path: Path
    number: int
    event: int
    base: int
    sections: dict[str, tuple[int, int]]  # offset and length
    runs: list[Run]

    @property
    def own(self) -> list[Run]:
        return [run for run in self.runs if run.image == self.number]


def read_image(path: Path) -> Image:
    data = path.read_bytes()
    head = _HEAD.unpack_from(data)
    sections = {}
    for index, name in enumerate(SECTIONS):
        off, length, _, _ = _SECTION.unpack_from(data, _HEAD.size + index * _SECTION.size)
        sections[name] = (off, length)
    off, length = sections["runs"]
    runs = [Run(*row[:5]) for row in _RUN.iter_unpack(data[off : off + length])]
    return Image(path, head[2], head[3], head[6], sections, runs)
