"""Programs in several languages whose sources say which statement makes which expression false."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from gdbdriver import Gdb, GdbError, Recorded

_MARK = re.compile(r"(?://|!|--|#)([=0]) (.+?)(?: \*/)?$")


def marked(source: Path, optimised: bool) -> dict[str, int]:
    """Expression -> line of the statement that first makes it false."""
    lines = source.read_text().splitlines()[1:]  # the first one explains the marks
    found = ((number, _MARK.search(line)) for number, line in enumerate(lines, start=2))
    return {one[2]: number for number, one in found if one and (one[1] == "=" or not optimised)}


def check_marked(recorded: Recorded, source: Path, optimised: bool = False, each: int = 1) -> None:
    """Bisect finds every one of them, or every so many, where it is said to be."""
    wrong: dict[str, Any] = {}
    with recorded.gdb() as gdb:
        gdb.run("goto end")
        for expression, line in list(marked(source, optimised).items())[::each]:
            found = answered(gdb, expression)
            known = found.get("before_true") and found.get("after_false")
            if not (known and (optimised or line in found["lines"])):
                wrong[expression] = found
            gdb.run("goto end")
    assert not wrong, json.dumps(wrong, indent=1)


def answered(gdb: Gdb, expression: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(gdb.run(f"bisect {expression} --json"))
    except GdbError as error:
        return {"error": str(error)}
    found["lines"] = [int(one) for one in re.findall(r":(\d+)$", "\n".join(found["stack"]), re.M)]
    return found
