"""The software HCA: two processes on loopback, each linked with the engine alone, without rdb."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS, Build

REPOSITORY = Path(__file__).parents[2]
LIBRARY = REPOSITORY / "build/interposer/verbs/soft/librdbhca.a"
FLAGS = ("-std=gnu17", "-D_GNU_SOURCE", "-Wno-unused-function", f"-I{REPOSITORY / 'interposer'}")
TIMEOUT_S = 180

Run = Callable[[str, str], "subprocess.CompletedProcess[str]"]


def scenarios(program: str) -> list[str]:
    table = (PROGRAMS / f"{program}.c").read_text().partition("struct scenario all[]")[2]
    names = re.findall(r'\{"(\w+)", \w+\}', table)
    assert names
    return names


@pytest.fixture(params=[False, True], ids=["one host", "tagged, as between hosts"])
def run(build: Build, tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    with socket.socket() as probe:  # away from the ports of other jobs on the machine
        probe.bind(("127.0.0.1", 0))
        base_port = min(int(probe.getsockname()[1]), 60000)

    def start(program: str, scenario: str) -> subprocess.CompletedProcess[str]:
        path = build(f"{program}.c", *FLAGS, str(LIBRARY), "-lsodium", "-lpthread")
        names = {"HCA_KEY": str(tmp_path / "key"), "RDB_HCA_PORT": str(base_port)}
        names |= {"HCA_TAGS": "1"} if request.param else {}
        return deadlines.run([path, scenario], TIMEOUT_S, env={**os.environ, **names}, cwd=tmp_path)

    return start


@pytest.mark.parametrize(
    ("program", "scenario"),
    [
        (program, scenario)
        for program in ("hca_rc", "hca_errors", "hca_objects", "hca_foreign")
        for scenario in scenarios(program)
    ],
)
def test_scenarios(run: Run, program: str, scenario: str) -> None:
    """Reliable connections; what goes wrong; objects; who does not hold the key."""
    done = run(program, scenario)
    assert done.returncode == 0, done.stderr


def test_several_processes_and_their_children(run: Run) -> None:
    done = run("hca_many", "")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("run", [True], indirect=True, ids=["tagged"])
@pytest.mark.parametrize("scenario", scenarios("hca_meddle"))
def test_who_meddles_on_the_way(run: Run, scenario: str) -> None:
    """Nothing of a frame that is not as it was sent is carried out, and it is said once."""
    done = run("hca_meddle", scenario)
    assert done.returncode == 0, done.stderr
    said = "connection closed: a frame that was changed, repeated or left out on the way"
    silent = scenario in ("as_it_is", "cut")  # a connection that is cut is one whose peer has gone
    assert done.stderr.count(said) == (0 if silent else 1), done.stderr
