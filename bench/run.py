"""Runs the sections one after the other and prints what they measured."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench import machine, table
from bench.figures import Section
from bench.setup import FULL, QUICK, Bench
from rdb.errors import RdbError

SECTIONS = (
    "calls",
    "reads",
    "rewrites",
    "outputs",
    "trees",
    "threads",
    "spins",
    "chaos",
    "startup",
    "pingpong",
    "bandwidth",
    "tcp",
    "allreduce",
    "windows",
    "lammps",
    "verbs",
    "rdma",
    "instructions",
    "heat",
    "checkpoints",
    "coordinated",
    "peers",
    "minute",
    "timeline",
    "gdb",
    "hot",
    "session",
    "answers",
    "logs",
)
FORMAT = 1  # of --json
_WIDTH = 100  # of tables that go to a file


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    messages = Console(stderr=True, highlight=False)
    output = Console(highlight=False)
    if not output.is_terminal:
        output = Console(highlight=False, width=_WIDTH)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rdb-bench-", dir=args.dir) as folder:
        home, built = Path(folder, "home"), Path(folder, "built")
        home.mkdir()
        built.mkdir()
        described = machine.describe(home)
        if not args.json:
            table.show_machine(output, described)
        bench = Bench(QUICK if args.quick else FULL, home, built, messages.print)
        sections = []
        try:
            for name in args.only or SECTIONS:
                sections.append(_measure(bench, name))
                if not args.json:
                    table.show_section(output, sections[-1])
        except KeyboardInterrupt:
            messages.print("bench: interrupted")
            return 130
    took_s = time.monotonic() - started
    if args.json:
        whole = {
            "format": FORMAT,
            "quick": args.quick,
            "machine": described,
            "took_s": took_s,
            "sections": [dataclasses.asdict(section) for section in sections],
        }
        print(json.dumps(whole, indent=2))
    else:
        output.print(f"\nmeasured in {took_s:.0f} s; n runs each, medians")
    return 1 if any(section.error for section in sections) else 0


def _measure(bench: Bench, name: str) -> Section:
    """A section that cannot be measured says why; the others are measured all the same."""
    module = importlib.import_module(f"bench.sections.{name}")
    section = Section(name, module.TITLE)
    bench.say(f"measuring: {section.title}")
    started = time.monotonic()
    try:
        module.measure(bench, section)
    except RdbError as error:
        section.error = error.line().removeprefix("rdb: ")
    except (OSError, EOFError, subprocess.SubprocessError) as error:
        section.error = f"{type(error).__name__}: {error}"
    if section.error:
        bench.say(f"bench: {section.title}: {section.error}")
    section.took_s = time.monotonic() - started
    return section


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=...", description="Measures rdb against native runs on this machine."
    )
    parser.add_argument("--json", action="store_true", help="for machines, one JSON document")
    parser.add_argument("--quick", action="store_true", help="only see that everything works")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="this section; may be given again"
    )
    parser.add_argument(
        "--dir", type=Path, help=f"where to record to (default: {tempfile.gettempdir()})"
    )
    return parser
