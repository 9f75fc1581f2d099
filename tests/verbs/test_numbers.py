"""Numbers of verbs after a restart: a new object has none that means another one in the job."""

from __future__ import annotations

import subprocess
from itertools import chain
from pathlib import Path

import deadlines
import pytest

ROOT = Path(__file__).parents[2]
QP, LKEY, RKEY, WINDOW = range(4)
MADE_AGAIN = [
    [(QP, 500, 77), (LKEY, 482, 11), (RKEY, 482, 12)],  # (kind, shown, lower) of rank 0
    [(QP, 501, 78), (LKEY, 322, 13), (RKEY, 322, 14), (WINDOW, 0x700, 0x900)],
    [],
]


@pytest.fixture(scope="module")
def rank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("numbers") / "numbers"
    sources = [ROOT / "tests/verbs/numbers.c", ROOT / "interposer/verbs/lower/rebind.c"]
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-fsanitize=address,undefined"]
    subprocess.run(["gcc", *flags, "-I", ROOT / "interposer", *sources, "-o", made], check=True)
    return made


def may_be(kind: int, number: int, rank: int) -> bool:
    """Keys of memory are a rank's own where only that rank uses them (lkeys)."""
    for other, made in enumerate(MADE_AGAIN):
        for one, shown, _ in made:
            if one == kind == LKEY and other == rank and shown == number:
                return False
            if one == kind != LKEY and shown == number:
                return False
            if kind == RKEY and one == WINDOW and shown >> 8 == number >> 8:
                return False
    return True


def test_new_numbers(rank: Path, tmp_path: Path) -> None:
    asked = [(kind, n) for kind in (QP, LKEY, RKEY) for n in (500, 501, 482, 322, 0x700, 0x7FF, 9)]
    text = "".join(f"{kind} {number}\n" for kind, number in asked)
    count = str(len(MADE_AGAIN))
    started = [
        subprocess.Popen(
            [rank, tmp_path, count, str(number), *map(str, chain.from_iterable(made))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number, made in enumerate(MADE_AGAIN)
    ]  # fmt: skip
    for number, one in enumerate(started):
        lines = deadlines.communicate(one, 60, text)[0].splitlines()
        assert one.returncode == 0
        said = [tuple(map(int, line.split())) for line in lines]
        assert [free for free, _ in said] == [may_be(kind, n, number) for kind, n in asked]
        # An rkey that a new object may have reaches the other side as it is.
        assert all(
            key == n
            for (kind, n), (free, key) in zip(asked, said, strict=True)
            if free and kind == RKEY
        )
        keys = {n: key for (kind, n), (_, key) in zip(asked, said, strict=True) if kind == RKEY}
        assert (keys[482], keys[322], keys[0x7FF]) == (12, 14, 0x9FF)
