"""System calls of the C library that reach the boundary without a trap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from alone import build as build_here
from alone import record
from gdbdriver import Gdb

_JMP, _MOV = "e9", "b8"
_MOV_BYTES = 5


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


def _number(gdb: Gdb, expression: str) -> int:
    return int(gdb.value(f"(unsigned long)({expression})"))


def _at_getppid(gdb: Gdb) -> int:
    gdb.run("break kept")
    gdb.run("continue")
    gdb.run("tbreak getppid")
    gdb.run("continue")
    return _number(gdb, "$pc")


def test_a_debugger_sees_the_library_as_it_was(
    rdb: Callable[..., object], build: Callable[..., Path], rdb_home: Path
) -> None:
    """Its text, whole and in parts; two instructions, back and forth, a backtrace in each."""
    rdb("run", "--name", "it", "--", build("hot_sites.c", "-O0", "-pthread"), "kept")
    with Gdb("it", home=rdb_home) as gdb:
        site = _at_getppid(gdb)
        listing = gdb.run("x/2i $pc").splitlines()
        assert "mov " in listing[0] and "syscall" in listing[1], listing
        assert [_number(gdb, f"*(unsigned char *){site + n}") for n in range(7)] == [
            *bytes.fromhex("b86e0000000f05"),
        ]
        assert _number(gdb, f"*(unsigned int *){site + 1}") == 110
        assert _number(gdb, f"*(unsigned short *){site - 1}") >> 8 == 0xB8
        places = [site, site + _MOV_BYTES, site + _MOV_BYTES + 2]
        for place in places[1:]:
            gdb.run("stepi")
            assert _number(gdb, "$pc") == place
            assert "kept () at" in gdb.run("backtrace")
        for place in reversed(places[:-1]):
            gdb.run("reverse-stepi")
            assert _number(gdb, "$pc") == place
            assert "kept () at" in gdb.run("backtrace")
        gdb.run("finish")
        assert "kept () at" in gdb.run("frame")


def test_breakpoints_on_the_replaced_instruction_and_behind_it(
    rdb: Callable[..., object], build: Callable[..., Path], rdb_home: Path
) -> None:
    """Who runs to the system call finds the registers that who steps there finds."""
    rdb("run", "--name", "it", "--", build("hot_sites.c", "-O0", "-pthread"), "kept")
    with Gdb("it", home=rdb_home) as gdb:
        site = _at_getppid(gdb)
        registers = [gdb.run("info registers general")]
        gdb.run("stepi")
        registers.append(gdb.run("info registers general"))
        gdb.run("reverse-continue")
        gdb.run(f"break *{site}")
        gdb.run(f"break *{site + _MOV_BYTES}")
        for expected in registers:
            gdb.run("continue")
            assert gdb.run("info registers general") == expected
        gdb.run("reverse-continue")
        assert gdb.run("info registers general") == registers[0]
        gdb.run(f"tbreak *{site + _MOV_BYTES + 2}")
        gdb.run("delete 3 4")
        gdb.run("continue")
        gdb.run(f"tbreak *{site + _MOV_BYTES}")
        gdb.run("reverse-continue")
        assert gdb.run("info registers general") == registers[1]


def test_a_step_back_over_a_call(
    rdb: Callable[..., object], build: Callable[..., Path], rdb_home: Path
) -> None:
    rdb("run", "--name", "it", "--", build("hot_sites.c", "-O0", "-pthread"), "kept")
    with Gdb("it", home=rdb_home) as gdb:
        gdb.run("break kept")
        gdb.run("continue")
        lines = [gdb.run("frame").splitlines()[-1]]
        while "parent = getppid" not in lines[-1]:
            gdb.run("next")
            lines.append(gdb.run("frame").splitlines()[-1])
        gdb.run("next")
        gdb.run("reverse-next")
        assert gdb.run("frame").splitlines()[-1] == lines[-1]


def test_the_replaced_instruction_can_be_written_to(
    rdb: Callable[..., object], build: Callable[..., Path], rdb_home: Path
) -> None:
    """Another number in it makes another system call, one the branch cannot answer."""
    rdb("run", "--name", "it", "--", build("hot_sites.c", "-O0", "-pthread"), "kept")
    with Gdb("it", home=rdb_home) as gdb:
        site = _at_getppid(gdb)
        gdb.run(f"set var *(unsigned char *){site + 1} = 102")
        assert "$0x66," in gdb.run("x/i $pc")
        gdb.run("stepi")
        assert _number(gdb, "$eax") == 102


def test_images_of_threads_that_have_not_started(tmp_path: Path) -> None:
    """They start with the vector registers of who made them, which tells where they are stopped."""
    program = build_here("hot_sites.c", tmp_path, "-O1", "-pthread")
    options = ("--checkpoint-every", "250", "--slice", "1")
    made = record(tmp_path, program, "threads", hash_every=0, options=options)
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    for number in range(1, 8):
        code, answer = made.verify("--checkpoint", str(number))
        assert (code, answer["ok"]) == (0, True), (number, answer)
