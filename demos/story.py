"""What demos share: they use the rdb command alone, as a user would, and check what they claim."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

RDB = Path(sys.executable).parent / "rdb"  # of the same environment
ATTEMPTS = 40


def record_until_it_fails(
    program: Path,
    assertion: str,
    *options: str,
    still: Callable[[str], bool] = lambda job: True,
) -> str:
    """Runs PROGRAM recorded until it dies of ASSERTION, with the job STILL as one wants it."""
    title(f"Recording ./{program.name} until it fails (it does so in some runs only)")
    for attempt in range(1, ATTEMPTS + 1):
        command = ["run", *options, "--", str(program)]
        done = subprocess.run([RDB, *command], capture_output=True, text=True, check=False)
        named = re.search(r"recorded job (\S+)", done.stderr)
        if named is None:
            sys.stderr.write(done.stderr)
            raise SystemExit("demo: nothing was recorded")
        if assertion in done.stderr and still(named[1]):
            expect(done.returncode != 0, "a program that fails says so by its exit code")
            print(f"$ rdb {shlex.join(command)}")
            sys.stdout.write(done.stderr)
            return named[1]
        ended = done.stdout.strip() or f"ended otherwise, exit code {done.returncode}"
        print(f"run {attempt}: {ended}")
        subprocess.run([RDB, "rm", named[1]], check=True, capture_output=True)
    raise SystemExit(f"demo: {ATTEMPTS} runs and none failed; try again")


def attach(job: str, *commands: str) -> str:
    """A session of the console, from a script; what it printed."""
    with tempfile.NamedTemporaryFile("w", suffix=".rdb") as script:
        script.write("\n".join(commands) + "\n")
        script.flush()
        print(f"$ rdb attach {job} -x SCRIPT", flush=True)
        return shown(rdb_output("attach", job, "-x", script.name))


def rdb(*arguments: str) -> str:
    """Runs rdb and shows what it prints."""
    print(f"$ rdb {shlex.join(arguments)}", flush=True)
    return shown(rdb_output(*arguments))


def shown(text: str) -> str:
    sys.stdout.write(text)
    sys.stdout.flush()
    return text


def line_of(source: Path, text: str) -> int:
    """The line of SOURCE that has this text."""
    lines = source.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def rdb_output(*arguments: str) -> str:
    done = subprocess.run([RDB, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    expect(done.returncode == 0, f"rdb {shlex.join(arguments)} ends well ({done.returncode})", done)
    return done.stdout


def expect(holds: bool, what: str, detail: Any = None) -> None:
    if not holds:
        if detail is not None:
            print(detail, file=sys.stderr)
        raise SystemExit(f"demo: this should hold but does not: {what}")


def title(text: str) -> None:
    print(f"\n== {text}\n", flush=True)
