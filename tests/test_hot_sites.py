"""System calls of the C library that reach the boundary without a trap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gdbdriver import Gdb
from test_boundary import build as build_here
from test_boundary import record

_JMP, _MOV = "e9", "b8"
_TO_THE_END = 7  # jmp; mov, lea, movabs, jmp; jmp; syscall


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDB_HOT_SITES", "1")


def _kept(tmp_path: Path, options: tuple[str, ...] = ()) -> tuple[str, str]:
    """What the program says of its registers, and the first byte of libc's getppid."""
    tmp_path.mkdir(exist_ok=True)
    made = record(
        tmp_path, build_here("hot_sites.c", tmp_path, "-pthread"), "kept", options=options
    )
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
    made = record(tmp_path, build_here("hot_sites.c", tmp_path, "-pthread"), "kept")
    monkeypatch.setenv("RDB_HOT_SITES", "0")
    made.expect_equal()


@pytest.mark.parametrize("hash_every", [0, 211])
@pytest.mark.parametrize("beside", ["signals", "threads", "restarted", "interrupted"])
def test_calls_in_a_storm(beside: str, hash_every: int, tmp_path: Path) -> None:
    program = build_here("hot_sites.c", tmp_path, "-O1", "-pthread")
    made = record(tmp_path, program, beside, hash_every=hash_every)
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer


@pytest.mark.parametrize("beside", ["signals", "threads"])
def test_checkpoints_among_them(beside: str, tmp_path: Path) -> None:
    """A thread may wait for its turn in such a call while the image is written."""
    program = build_here("hot_sites.c", tmp_path, "-O1", "-pthread")
    made = record(tmp_path, program, beside, hash_every=0, options=("--checkpoint-every", "1000"))
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    images = sorted(made.rank_dir.glob("ckpt-*.img"))
    assert len(images) > 2
    for number in range(len(images)):
        code, answer = made.verify("--checkpoint", str(number))
        assert (code, answer["ok"]) == (0, True), (number, answer)


def test_a_debugger_goes_through_a_stub(
    rdb: Callable[..., object], build: Callable[..., Path], rdb_home: Path
) -> None:
    """A backtrace in each instruction, forward and back, and a step over it."""
    rdb("run", "--name", "it", "--", build("hot_sites.c", "-O0", "-pthread"), "kept")
    with Gdb("it", home=rdb_home) as gdb:
        gdb.run("break kept")
        gdb.run("continue")
        gdb.run("tbreak getppid")
        gdb.run("continue")
        places = [gdb.value("$pc")]
        for _ in range(_TO_THE_END):
            gdb.run("stepi")
            places.append(gdb.value("$pc"))
            assert "kept () at" in gdb.run("backtrace"), places
        assert "syscall" in gdb.run("x/i $pc - 2")
        for place in reversed(places[:-1]):
            gdb.run("reverse-stepi")
            assert gdb.value("$pc") == place
        gdb.run("finish")
        assert "kept () at" in gdb.run("frame")
