"""Makes docs/syscalls.md from interposer/answer/syscalls.def.

Run: .venv/bin/python3 -m tools.syscall_docs
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "interposer" / "answer/syscalls.def"
NUMBERS = ROOT / "interposer" / "arch/x86_64/answer/syscall_numbers.def"
PAGE = ROOT / "docs" / "syscalls.md"

_ROW = re.compile(r"^SYS\((\w+), (\w+), (.*)\) /\* (.+) \*/$")

_HEAD = """\
# System calls

Made from `interposer/answer/syscalls.def` by `python -m tools.syscall_docs`; do not edit.

Every system call of x86-64 Linux up to 6.18 has a row in that table. The words mean:

* **passed on**: while a program is recorded the kernel answers, and rdb logs the result and the
  bytes that the kernel put into memory. In a replay the log answers, and the kernel is not asked.
* **emulated**: rdb answers the call itself, in the same way in every run.
* **refused**: the call fails with an error that programs know from other kernels or machines and
  can handle. A caution of the recording says so, except for calls that every kernel of today
  answers so, and calls whose failure leads no program another way.

A call that is not listed here fails with ENOSYS, as on an older kernel, and a caution has its
number. `--lax` passes it on and logs its answer, what it mapped and each page that it wrote to. The
recording then has a caution: other effects of the call are not in the log.
"""


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    name: str
    kind: str
    what: str
    source: str

    @property
    def error(self) -> str:
        """What a refused call fails with."""
        return "ENOSYS" if self.kind == "NONE" else self.what.split(",")[0]

    @property
    def reason(self) -> str:
        """Why it is refused."""
        return self.what[self.what.index('"') + 1 : self.what.rindex('"')]


def rows() -> list[Row]:
    """The table; a line that is no row is an error."""
    lines = TABLE.read_text(encoding="ascii").split("*/\n", 1)[1].splitlines()
    found = []
    for line in lines:
        match = _ROW.match(line)
        if match is None:
            raise ValueError(f"{TABLE.name}: not a row: {line}")
        found.append(Row(*match.groups()))
    return found


def numbers() -> dict[str, int]:
    """The kernel's list."""
    pairs = re.findall(r"^NR\((\w+), (\d+)\)$", NUMBERS.read_text(encoding="ascii"), re.MULTILINE)
    return {name: int(number) for name, number in pairs}


def _names(kind: str) -> str:
    chosen = sorted(row.name for row in rows() if row.kind == kind)
    return ", ".join(f"`{name}`" for name in chosen) + "\n"


def text() -> str:
    """The whole page."""
    refused = [row for row in rows() if row.kind in ("NONE", "FAIL", "SAME")]
    parts = [_HEAD, "## Refused\n", "| call | fails with | why |\n|---|---|---|"]
    parts += [f"| `{row.name}` | {row.error} | {row.reason} |" for row in refused]
    parts += ["\n## Emulated\n", _names("EMU"), "## Passed on\n", _names("PASS")]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
