"""origin: through the functions that returned a value, by the ABI's registers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import in_console

SOURCE = PROGRAMS / "returned.cc"
# Of `results`: what returned it, and where it was made: a function and the comment in its line.
CAME = {
    "whole": (["whole"], "whole", "whole"),
    "outer": (["whole"], "whole", "whole"),
    "real": (["real"], "real", "real"),
    "single": (["single"], "single", "single"),
    "pointer": (["pointer"], "pointer", "pointer"),
    "two.x": (["two"], "two", "two"),
    "two.y": (["two"], "two", "two"),
    "mixed.a": (["mixed"], "mixed", "mixed"),
    "mixed.b": (["mixed"], "mixed", "mixed"),
    "kept": (["kept"], "kept", "kept"),
    "got": (["Box::get"], "main", "held"),
    "full": (["Box::full"], "Box::full", "full"),
    "here": ([], "main", "here"),
    "copied": ([], "main", "here"),
    "large": ([], "large", "large"),
}


def line_of(comment: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"// {comment}"))


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_function_that_returned_it(tmp_path: Path, build: Build, level: str) -> None:
    program = build("returned.cc", level, "-fno-ipa-ra")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    asked = [line for one in CAME for line in (f"origin results.{one}", "undo")]
    said = in_console(tmp_path, "job", [*asked, "origin results.pid"])
    for number, (name, (functions, function, comment)) in enumerate(CAME.items()):
        rows = [row for row in said[2 * number].splitlines() if row.startswith("0  ")]
        hows = [row.split("  ")[-1].strip() for row in rows]
        assert hows.pop() == "computed", f"{name}: {said[2 * number]}"
        returned = [one.removeprefix("returned by ") for one in hows if one != "copied"]
        assert returned == functions, f"{name}: {said[2 * number]}"
        at = re.search(rf" {function} \(\) at returned\.cc:(\d+) ", rows[-1])
        # Which line of the function an instruction is of the optimiser says as it likes.
        assert at and (level != "-O0" or int(at[1]) == line_of(comment)), rows[-1]
        assert said[2 * number + 1].startswith("undid origin")
    assert "getppid() = " in said[-1], said[-1]
