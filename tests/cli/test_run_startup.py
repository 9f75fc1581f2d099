"""`rdb run` starts without what it does not need, and says the same as what it left out."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, cast

import deadlines
import pytest
from conftest import Rdb

from rdb.cli.parser import build_parser
from rdb.cli.run import plain_arguments
from rdb.launch.recorded import recorded_processes, recorded_ranks
from rdb.recording import open_job


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--", "true"], ["-n", "3", "--", "prog", "-n", "4"], ["--", "p", "--", "--lax"]),
        ["--name", "a b", "-n", "2", "--", "prog", "--name", "c"],
    ],
    ids=" ".join,
)
def test_the_usual_case_is_parsed_as_argparse_does(arguments: list[str]) -> None:
    plain = plain_arguments(arguments)
    assert plain is not None
    parsed = vars(build_parser().parse_args(["run", *arguments]))
    assert vars(plain) == {k: v for k, v in parsed.items() if k not in ("command", "target")}


@pytest.mark.parametrize(
    "arguments",
    [
        *(["true"], ["-n", "0", "--", "p"], ["-n", "x", "--", "p"], ["--lax", "--", "p"], []),
        *(["--name"], ["--name", "--", "p"], ["--name", "-n", "2", "--", "p"]),
    ],
)
def test_the_rest_is_left_to_argparse(arguments: list[str]) -> None:
    assert plain_arguments(arguments) is None


def test_of_other_commands_only_the_names_are_made() -> None:
    whole = _made(build_parser())
    assert len(whole) > 10
    for name, parser in whole.items():
        alone = _made(build_parser(name))
        assert set(alone) == {name}
        assert alone[name].format_help() == parser.format_help()
        assert build_parser(name).commands == build_parser().commands


def _made(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    (commands,) = (one for one in parser._actions if one.dest == "command")
    made = dict(cast(Any, commands.choices))
    made.pop("agent")  # as it has no arguments
    return made


@pytest.mark.parametrize("ranks", [[], ["-n", "1"]], ids=["alone", "mpirun"])
def test_nothing_heavy_is_imported(ranks: list[str], rdb_home: Path, tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("rdb-python")  # -m would import some of them itself
    run = ["-X", "importtime", script, "run", *ranks, "--", "/bin/true"]
    said = deadlines.native([sys.executable, *run], cwd=tmp_path).stderr
    imported = {line.rpartition("|")[2].strip() for line in said.splitlines()}
    assert "rdb.cli.run" in imported
    heavy = {"argparse", "subprocess", "dataclasses", "rdb.recording", "shutil", "hashlib"}
    heavy |= {"asyncio", "ssl", "cryptography", "pathlib", "typing", "contextlib"}
    assert not heavy & imported


def test_processes_are_counted_as_the_recording_has_them(rdb: Rdb, rdb_home: Path) -> None:
    script = "/bin/true & wait; (/bin/true; exec /bin/sh -c '/bin/true; /bin/true'); exec /bin/echo"
    done = rdb("run", "--", "/bin/sh", "-c", script)
    assert done.returncode == 0, done.stderr
    job = open_job("sh-1")
    counted = recorded_processes(str(job.path))
    assert counted == sum(1 for _ in job.processes()) > 3
    assert recorded_ranks(str(job.path)) == 1
    assert f"{counted} processes" in done.stderr
