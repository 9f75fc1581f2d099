"""An oracle for bisect, which has no binding and no search: `first_edges`; the rest runs in GDB.

From an event to another one, one instruction after the other, GDB itself is asked for the
expression, in the innermost frame of the source that knows its names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gdbdriver import Recorded

STEPS_MAX = 20_000


class Edge(NamedTuple):
    """The positions between which it first turned from true to false, and at how many in between
    it had no value."""

    before: str | None
    after: str
    between: int


def first_edges(recorded: Recorded, wanted: list[tuple[int, int, str]]) -> list[Edge]:
    """For each expression, from one event to another."""
    from gdbdriver import DEADLINE_S, SCRIPT

    asked = recorded.folder / "asked.json"
    asked.write_text(json.dumps([recorded.source.name, wanted]))
    rdb = Path(sys.executable).parent / "rdb"
    done = subprocess.run(
        ["gdb", "-nx", "-q", "-batch", "-x", SCRIPT, "-ex", "rdb-open job", "-x", __file__],
        env={
            **os.environ,
            "RDB_HOME": str(recorded.home),
            "RDB_EXECUTABLE": str(rdb),
            "ASKED": str(asked),
        },
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    said = asked.with_suffix(".said")
    assert said.exists(), done.stdout + done.stderr
    return [Edge(*one) for one in json.loads(said.read_text())]


def main() -> None:
    import gdb
    from rdb_gdb import link
    from rdb_gdb.values import predicates, symbols

    def means_a_librarys(expression: str) -> bool:
        """In a function that was put into another one GDB finds a library's variable first."""
        program = gdb.selected_frame().find_sal().symtab.objfile
        for name in re.findall(r"[A-Za-z_]\w*", expression):
            found = symbols.find(name)[0]
            if found is None or found.symtab is None or found.type.code == gdb.TYPE_CODE_FUNC:
                continue
            if found.symtab.objfile != program:
                return True
        return False

    def truth(source: str, expression: str) -> bool | None:
        frame = gdb.newest_frame()
        while frame is not None:
            symtab = frame.find_sal().symtab
            if symtab is not None and symtab.filename.rsplit("/", 1)[-1] == source:
                frame.select()
                try:
                    if means_a_librarys(expression):
                        frame = frame.older()
                        continue
                    if "&'" in expression:  # by address
                        gdb.execute("set language c", to_string=True)
                    value = predicates.value(expression)
                    while value.type.strip_typedefs().code == gdb.TYPE_CODE_REF:
                        value = value.referenced_value()
                    return None if value.is_optimized_out else bool(value)
                except gdb.error as error:
                    if not str(error).startswith("No symbol "):
                        return None
                finally:
                    gdb.execute("set language auto", to_string=True)
            frame = frame.older()
        return None

    def first_edge(source: str, event: int, last: int, expression: str) -> Edge:
        gdb.execute(f"goto {event}", to_string=True)
        good, between = None, 0
        for _ in range(STEPS_MAX):
            at = link.ask("name")
            now = truth(source, expression)
            if now:
                good, between = at["name"], 0
            elif now is None:
                between += 1
            elif good is not None:
                return Edge(good, at["name"], between)
            if at["event"] > last:
                return Edge(None, at["name"], between)
            gdb.newest_frame().select()
            gdb.execute("stepi", to_string=True)
        raise gdb.GdbError(f"{STEPS_MAX} instructions after {event}, event {last} is still to come")

    asked = Path(os.environ["ASKED"])
    source, wanted = json.loads(asked.read_text())
    found = [first_edge(source, *one) for one in wanted]
    asked.with_suffix(".said").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
