"""rdtsc that is recorded without a trap."""

from __future__ import annotations

from pathlib import Path

import pytest
from alone import Made, record
from alone import build as build_here


def _record(
    tmp_path: Path, how: str, *flags: str, hash_every: int = 0, options: tuple[str, ...] = ()
) -> Made:
    tmp_path.mkdir(exist_ok=True)
    program = build_here("tsc_sites.c", tmp_path, "-O1", "-pthread", *flags)
    made = record(tmp_path, program, how, hash_every=hash_every, options=options)
    assert (made.result.returncode, made.result.stdout) == (0, "fine\n"), made.result.stderr
    return made


def _expect_equal(made: Made, *options: str) -> None:
    code, answer = made.verify(*options)
    assert (code, answer["ok"]) == (0, True), answer


@pytest.mark.parametrize("flags", [(), ("-no-pie",)], ids=["pie", "no-pie"])
def test_a_recording_made_with_it_does_not_need_it(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched = _record(tmp_path / "on", "alone", *flags)
    assert " r-xp " in patched.result.stderr
    monkeypatch.setenv("RDB_TSC_SITES", "0")
    _expect_equal(patched)
    trapped = _record(tmp_path / "off", "alone", *flags)
    assert trapped.result.stderr == ""
    _expect_equal(trapped)


def test_where_it_is_sure_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a loop that was unrolled.  Else all of them trap, thousands of cycles each."""
    trace = tmp_path / "trace"
    monkeypatch.setenv("RDB_TRACE", "event")
    monkeypatch.setenv("RDB_TRACE_FILE", str(trace))
    _expect_equal(_record(tmp_path / "sure", "alone"))
    assert "rdtsc traps everywhere" not in trace.read_text()
    made = _record(tmp_path / "unsure", "alone", "-DUNSURE")
    assert "rdtsc traps everywhere: not patched at 0x" in trace.read_text()
    monkeypatch.delenv("RDB_TRACE")
    _expect_equal(made)


@pytest.mark.parametrize("hash_every", [0, 211])
@pytest.mark.parametrize("how", ["signals", "threads", "child", "others"])
def test_among_other_things(how: str, hash_every: int, tmp_path: Path) -> None:
    made = _record(tmp_path, how, hash_every=hash_every)
    _expect_equal(made)
    for child in made.rank_dir.glob("child-*"):
        _expect_equal(Made(child, made.files, made.result))


def test_programs_that_measure_the_counter_log_little(tmp_path: Path) -> None:
    """At full speed a row of looks at the clock would be hundreds of thousands of records."""
    made = _record(tmp_path, "others")
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), answer
    assert answer["events"] < 30 * 2000


def test_images_hold_the_program_as_it_is(tmp_path: Path) -> None:
    made = _record(tmp_path, "threads", options=("--checkpoint-every", "2000"))
    images = sorted(made.rank_dir.glob("ckpt-*.img"))
    assert len(images) > 2
    for number in range(len(images)):
        _expect_equal(made, "--checkpoint", str(number))
