"""madvise(2) takes memory away in one call, whatever lies in it and however large it is."""

from __future__ import annotations

from pathlib import Path

from kit.alone import build, record


def test_a_reservation_of_many_terabytes(tmp_path: Path) -> None:
    made = record(tmp_path, build("discarded.c", tmp_path), tmp_path / "file")
    there = ["nothing"] * 8
    there[2], there[5] = "the file", "stored"
    expected = "".join(f"{i}: {what}\n" for i, what in enumerate(there)) + "stored, nothing\n"
    assert (made.result.returncode, made.result.stdout) == (0, expected), made.result.stderr
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer
