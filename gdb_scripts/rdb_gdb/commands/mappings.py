"""info proc mappings: the program's mappings at the position; replaces GDB's own command."""

from __future__ import annotations

import re

import gdb

from .. import link
from ..values import symbols
from .command import Command, command

_SECTION = re.compile(r"\s*0x([0-9a-f]+) - 0x([0-9a-f]+) is \S+(?: in (?:target:)?(.*))?$")
_PROT = "rwx"


@command("info proc mappings", gdb.COMMAND_STATUS)
class Mappings(Command):
    """List the memory that the program has mapped where the rank stands
    Shows for each mapping the program or library whose sections GDB knows in it."""

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
    """(address, file) of each section."""
    program = symbols.program().removeprefix("target:")
    found = []
    for line in gdb.execute("info files", to_string=True).splitlines():
        section = _SECTION.match(line)
        if section:
            found.append((int(section[1], 16), section[3] or program))
    return found
