"""Draws the picture in README.md: a session with the failed run of demos/heat, as docs/bisect.svg.

`make picture` runs it.  What is drawn is what rdb printed.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from demos.heat.demo import HERE, INVARIANT, RANKS
from demos.story import attach, rdb_output, record_until_it_fails

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "bisect.svg"
WIDTH = 104
# Fonts from the network have no place in a document: a viewer's own monospace font does.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.S)


def main() -> int:
    subprocess.run(["make", "-s", "-C", str(HERE), "heat"], check=True)
    job = record_until_it_fails(HERE / "heat", "Assertion", "-n", str(RANKS))
    answer = rdb_output("bisect", job, INVARIANT)
    found = json.loads(rdb_output("bisect", job, INVARIANT, "--json"))["found"][0]
    session = attach(
        job,
        f"focus {found['rank']}",
        f"goto {found['position']}",
        "print above.row",
        "next",
        "print above.row",
        "reverse-next",
        "print above.row",
    )
    screen = Console(record=True, width=WIDTH, file=io.StringIO())
    screen.print(Text(f"$ rdb bisect {job} '{INVARIANT}'", style="bold green"))
    screen.print(Text(answer.rstrip() + "\n"))
    screen.print(Text(f"$ rdb attach {job}", style="bold green"))
    screen.print(Text(session.rstrip()))
    OUTPUT.write_text(screen.export_svg(title="rdb", code_format=FORMAT), encoding="utf-8")
    print(f"wrote {OUTPUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
