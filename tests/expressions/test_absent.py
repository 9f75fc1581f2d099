"""Fortran's variables without a target: what each command says of them, and when they have one."""

from __future__ import annotations

import json
import re
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


IN_REGISTERS = """
program main
  implicit none
  interface
    function getppid() bind(c)
      integer(4) :: getppid
    end function
  end interface
  real(8), allocatable :: x(:), q(:)
  real(8) :: s
  integer :: i, n
  n = 5 + 0 * getppid()
  allocate(x(n), q(0:n+1))
  x = 1
  q = 2
  do i = 1, 3
    x(1:n) = x(1:n) + q(1:n)
    s = sum(x)
    if (getppid() < 0) print *, s
  end do
  print *, x, q
end program
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_descriptors_in_registers(tmp_path: Path, build: Build, level: str) -> None:
    """A value or *optimized out*; GDB has other errors for descriptors in registers."""
    source = tmp_path / "registers.f90"
    source.write_text(IN_REGISTERS)
    program = build(source, level, compiler="gfortran")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    commands = ["print x", "print q", "plot x(2)", "print all(q > 0)"]
    moves = ["goto start", "break getppid", *4 * ["continue"]]
    for text, answer in zip(
        commands, in_console(tmp_path, "job", [*moves, *commands])[6:], strict=True
    ):
        wrong = re.search(r"\b[xq] is ", answer)
        assert not wrong or "optimized out" in answer, (text, answer)
        assert level != "-O0" or "error" not in answer, (text, answer)
    for name in ("x", "q"):
        text = run_rdb(tmp_path, tmp_path, "bisect", "job", f"all({name} > -1)").stdout
        assert "Location address" not in text and "synthetic pointer" not in text, text
        assert level != "-O0" or "still true" in text, text
