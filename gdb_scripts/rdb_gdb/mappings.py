"""info proc mappings: the memory of the program where it stands, in place of GDB's own command."""

from __future__ import annotations

import re

import gdb

from . import link
from .command import Command

_SECTION = re.compile(r"\s*0x([0-9a-f]+) - 0x([0-9a-f]+) is \S+(?: in (?:target:)?(.*))?$")
_PROT = "rwx"


class Mappings(Command):
    """List the memory that the program has mapped where the rank stands
    With each mapping the program or library of which GDB knows sections in it."""

    name = "info proc mappings"
    kind = gdb.COMMAND_STATUS

    def invoke(self, argument: str, from_tty: bool) -> None:
        maps = link.ask("maps")["maps"]
        sections = _sections()
        stack = int(gdb.parse_and_eval("(unsigned long)$sp"))
        gdb.write(f"{'Start Addr':>18} {'End Addr':>18} {'Size':>10}  Perms  objfile\n")
        for start, end, prot in maps:
            perms = "".join(c if prot >> bit & 1 else "-" for bit, c in enumerate(_PROT))
            inside = next((name for at, name in sections if start <= at < end), "")
            if not inside and start <= stack < end:
                inside = "[stack]"
            row = f"{start:#18x} {end:#18x} {end - start:#10x}  {perms}p   {inside}"
            gdb.write(row.rstrip() + "\n")


def _sections() -> list[tuple[int, str]]:
    """Where sections begin, and whose they are."""
    program = (gdb.current_progspace().filename or "").removeprefix("target:")
    found = []
    for line in gdb.execute("info files", to_string=True).splitlines():
        section = _SECTION.match(line)
        if section:
            found.append((int(section[1], 16), section[3] or program))
    return found


def define() -> None:
    Mappings()
