"""Locals of a function that are seen from a procedure inside of it: they have values while the
function runs, and a condition at the procedure is about them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import run_rdb
from gdbdriver import in_console

FORTRAN = """
program outer
  implicit none
  integer :: steps, total, count
  total = 0
  count = 0
  do steps = 1, 40
    call visit(steps)
  end do
  print *, total, count
contains
  subroutine visit(i)
    integer, intent(in) :: i
    total = total + i
    if (mod(i, 10) == 0) count = count + 1
    call tell(i)  ! then
  end subroutine
  subroutine tell(i)
    integer, intent(in) :: i
    integer :: unseen
    unseen = 3 * i
    print *, 'step', unseen
    flush(6)
  end subroutine
end program
"""

C = """
#include <unistd.h>
int main(void)
{
	int steps, total = 0, count = 0;
	auto void tell(int i);

	void visit(int i)
	{
		total = total + i;
		if (i % 10 == 0)
			count = count + 1;
		tell(i);  // then
	}
	void tell(int i)
	{
		int unseen = 3 * i;

		(void)unseen;
		getppid();
	}

	for (steps = 1; steps <= 40; steps++)
		visit(steps);
	return total + count == 7;
}
"""
SOURCES = {"outer.f90": FORTRAN, "outer.c": C}


def _line(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


class Built:
    def __init__(self, folder: Path, name: str) -> None:
        compiler = "gfortran" if name.endswith("f90") else "gcc"
        if shutil.which(compiler) is None:
            pytest.skip(f"no {compiler}")
        self.home, self.name, self.text = folder / "home", name, SOURCES[name]
        (folder / name).write_text(self.text)
        subprocess.run([compiler, "-g", "-O0", name, "-o", "job"], check=True, cwd=folder)
        run_rdb(self.home, folder, "run", "--name", "job", "--", str(folder / "job"))

    def at(self, part: str) -> str:
        return f"{self.name}:{_line(self.text, part)}"


@pytest.fixture(scope="module", params=sorted(SOURCES))
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("nested"), request.param)


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("steps < 20", "steps = 1"),  # the outer function changes it
        ("total < 100", "total = total + i"),
        ("count < 2 && total < 400", "count = count + 1"),
    ],
)
def test_bisect_finds_the_statement(job: Built, expression: str, part: str) -> None:
    done = run_rdb(job.home, job.home, "bisect", "job", expression)
    assert done.returncode == 0, done.stderr
    assert f"{job.at(part)} in " in done.stdout, done.stdout
    name = expression.split()[0]
    assert re.search(rf"^  {name} in (outer|main), {job.name}", done.stdout, re.M), done.stdout


def test_a_local_of_the_procedure_itself_stays_its(job: Built) -> None:
    done = run_rdb(job.home, job.home, "bisect", "job", "unseen + steps < 80")
    assert re.search(r"^  unseen in (outer::)?tell\b", done.stdout, re.M), done.stdout


def test_conditions_there_are_about_the_function_around_it(job: Built) -> None:
    # The frame that is selected then is a library's, of another language.
    place = job.at("// then" if job.name.endswith(".c") else "! then")
    lines = [
        f"break {place} if steps == 10",
        "reverse-continue",
        "print i",
        "print steps",
        "delete",
        f"break {place} if total > 100 && i < 20",
        "reverse-continue",
        "delete",
        f"break {place} if i == 7",
        "reverse-continue",
        "print steps",
        "info breakpoints",
    ]
    said = in_console(job.home, "job", lines)
    assert "Breakpoint 1," in said[1], said
    assert said[2].rstrip().endswith("= 10") and said[3].rstrip().endswith("= 10"), said
    assert "rdb: start of the recording" in said[6], said  # total is 45 and less before i is 10
    assert "rdb: start of the recording" in said[9], said  # it is at the start


def test_one_that_names_none_of_them_is_the_servers(job: Built) -> None:
    place = job.at("unseen = 3 * i")
    lines = [f"break {place} if i == 7", "reverse-continue", "print steps", "info breakpoints"]
    said = in_console(job.home, "job", lines)
    assert said[2].rstrip().endswith("= 7"), said
    assert "target evals" in said[3], said


def test_a_condition_with_a_name_of_a_library_is_in_the_places_language(job: Built) -> None:
    place = job.at("unseen = 3 * i")
    said = in_console(job.home, "job", [f"break {place} if environ == 3", "reverse-continue"])
    assert "uses variables of the program, not environ of" in said[0], said
    assert (
        "environ == 3 is undefined here" in said[1] and "rdb: start of the recording" in said[1]
    ), said
