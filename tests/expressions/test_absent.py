"""Fortran's variables without a target: what each command says of them, and when they have one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import Recorded, in_console

SOURCE = PROGRAMS / "fortran" / "absent.f90"
SCALAR = "not allocated or not associated"
WITHOUT = [
    ("ol(1)", "ol is not allocated"),
    ("max(ol)", "ol is not allocated"),
    ("all(a > 0)", "a is not allocated"),
    ("count(c%w > 0)", "c%w is not allocated"),
    ("c%w(1)", "c%w is not allocated"),
    ("max(p)", "p is not associated"),
    ("c%q(1) + 1", "c%q is not associated"),
    ("s", f"s is {SCALAR}"),
    ("sp > 1", f"sp is {SCALAR}"),
    ("o", "o is not present"),
    ("oa", "oa is not present"),
    ("sum(oa)", "oa is not present"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    folder = tmp_path_factory.mktemp("absent")
    program = build("fortran/absent.f90", "-O0", compiler="gfortran")
    made = Recorded(folder, program, SOURCE)
    assert made.done.returncode == 0, made.done.stderr
    return made.home


def said(home: Path, commands: list[str]) -> list[str]:
    """In the first call of `look`, where nothing has a target."""
    return in_console(home, "job", ["goto start", "break look", "continue", *commands])[3:]


@pytest.mark.parametrize("face", ["print {}", "plot {}", "defset one {}", "print --stats {}"])
def test_each_command_says_so(home: Path, face: str) -> None:
    answers = said(home, [face.format(text) for text, _ in WITHOUT])
    for (text, why), answer in zip(WITHOUT, answers, strict=True):
        assert why in answer, (face, text, answer)


def test_displays_say_so_and_show_what_comes(home: Path) -> None:
    texts = [*WITHOUT, ("a", "<not allocated>")]
    answers = said(home, [*(f"display {text}" for text, _ in texts), "next", "info display"])
    for number, (text, why) in enumerate(texts, 1):
        assert f"{number}: {text} = " in answers[number - 1] and why in answers[number - 1]
        assert f"\n{number}: {text} = " in answers[-2] and why in answers[-2]
        assert f"{number}:   y  {text}\n" in answers[-1]
    later = said(home, ["display s", "display a", *3 * ["continue"]])
    assert "1: s = 3\n" in later[-1] and "2: a = (3, 3, 3)\n" in later[-1], later[-1]


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("s < 4", "s = n"),
        ("sp < 4", "sp = n"),
        ("all(a < 3)", "a = n"),
        ("all(c%w < 3)", "c%w = n"),
    ],
)
def test_bisect(home: Path, tmp_path: Path, expression: str, line: str) -> None:
    """A scalar is its target, of whose kind the number is."""
    done = run_rdb(home, tmp_path, "bisect", "job", expression, "--json")
    (found,) = json.loads(done.stdout)["found"]
    assert found["line"] == 1 + SOURCE.read_text().splitlines().index(f"    {line}"), found
    assert "is not a" in found["why_undefined"], found


def test_find_event(home: Path, tmp_path: Path) -> None:
    done = run_rdb(home, tmp_path, "find-event", "job", "getppid all(a < 3)", "--json")
    assert len(json.loads(done.stdout)) == 2, done.stderr
    assert "undefined at 2 of 7: a is not allocated" in done.stderr
