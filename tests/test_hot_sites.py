"""System calls of the C library that reach the boundary without a trap."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_boundary import build, record

_JMP, _MOV = "e9", "b8"


def _kept(tmp_path: Path, options: tuple[str, ...] = ()) -> tuple[str, str]:
    """What the program says of its registers, and the first byte of libc's getppid."""
    tmp_path.mkdir(exist_ok=True)
    made = record(tmp_path, build("hot_sites.c", tmp_path, "-pthread"), "kept", options=options)
    assert made.result.returncode == 0, made.result.stderr
    if not options:
        made.expect_equal()
    return made.result.stdout, made.result.stderr.strip()


def test_what_a_system_call_keeps_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redirected, byte = _kept(tmp_path / "on")
    assert byte == _JMP
    assert "lost" not in redirected
    assert "answer right" in redirected
    monkeypatch.setenv("RDB_HOT_SITES", "0")
    trapped, byte = _kept(tmp_path / "off")
    assert byte == _MOV
    assert redirected == trapped


def test_without_a_recording(tmp_path: Path) -> None:
    said, byte = _kept(tmp_path, ("--record=off",))
    assert byte == _JMP
    assert "lost" not in said


def test_a_recording_made_with_it_does_not_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record(tmp_path, build("hot_sites.c", tmp_path, "-pthread"), "kept")
    monkeypatch.setenv("RDB_HOT_SITES", "0")
    made.expect_equal()


@pytest.mark.parametrize("hash_every", [0, 211])
@pytest.mark.parametrize("beside", ["signals", "threads", "restarted", "interrupted"])
def test_calls_in_a_storm(beside: str, hash_every: int, tmp_path: Path) -> None:
    program = build("hot_sites.c", tmp_path, "-O1", "-pthread")
    made = record(tmp_path, program, beside, hash_every=hash_every)
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer


@pytest.mark.parametrize("beside", ["signals", "threads"])
def test_checkpoints_among_them(beside: str, tmp_path: Path) -> None:
    """A thread may wait for its turn in such a call while the image is written."""
    program = build("hot_sites.c", tmp_path, "-O1", "-pthread")
    made = record(tmp_path, program, beside, hash_every=0, options=("--checkpoint-every", "1000"))
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    images = sorted(made.rank_dir.glob("ckpt-*.img"))
    assert len(images) > 2
    for number in range(len(images)):
        code, answer = made.verify("--checkpoint", str(number))
        assert (code, answer["ok"]) == (0, True), (number, answer)
