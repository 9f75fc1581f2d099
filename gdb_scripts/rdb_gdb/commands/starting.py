"""rdb-start: goes to the beginning of the main program, as GDB's `start`."""

from __future__ import annotations

import gdb

from .command import Command, command

_MAINS = ("MAIN__", "main")  # a Fortran program's main calls MAIN__


@command("rdb-start")
class Start(Command):
    """Go to the beginning of the main program, with a temporary breakpoint: rdb-start"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        for function in _MAINS:
            try:
                gdb.execute(f"tbreak {function}", to_string=True)
                break
            except gdb.error:
                continue
        else:
            raise gdb.GdbError(
                "The program's symbols have no main; `starti` goes to the start of the recording."
            )
        gdb.execute("run")
        gdb.execute("continue")
