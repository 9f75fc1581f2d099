"""Programs that time an operation at several sizes themselves, and print `size seconds` a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError
from bench.ways import NATIVE, WAYS, alternate

NAMES = {8: "8 B", 1024: "1 KiB", 4096: "4 KiB", 65_536: "64 KiB", 1 << 20: "1 MiB"}


def by_size(
    bench: Bench,
    section: Section,
    sizes: Sequence[tuple[int, int]],
    goals: Mapping[tuple[int, str], float],
    once: Callable[[str, list[str]], str],
    compared: Sequence[str] = WAYS,
    what: str = "",
) -> None:
    """A ratio for each of `sizes` (bytes, times) and way; `once` runs one way with these arguments
    and gives what the program printed."""
    amounts = [str(number) for size in sizes for number in size]
    times: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def read(way: str) -> None:
        said = once(way, amounts)
        rows = [row.split() for row in said.splitlines()]
        if len(rows) != len(sizes):
            raise BenchError(f"{section.title}, {way}: unexpected output {said!r}")
        for size, seconds in rows:
            times[int(size)][way].append(float(seconds))

    alternate(bench.scale.rounds, compared, read)
    for size, ways in times.items():
        for way in compared[1:]:
            goal = goals.get((size, way))
            section.ratios.append(ratio(what + NAMES[size], way, ways[NATIVE], ways[way], goal))
