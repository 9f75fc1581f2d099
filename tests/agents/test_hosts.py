"""Host files, and which ranks go where."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.checked import to_json
from rdb.cli.elsewhere import hosts_of
from rdb.errors import Usage
from rdb.launch.hosts import Host, Placed, place, read_hosts
from rdb.recording import FORMAT, Job


def write(folder: Path, text: str) -> str:
    path = folder / "hosts"
    path.write_text(text)
    return str(path)


def test_both_launchers_way_to_write_it(tmp_path: Path) -> None:
    text = "# ours\nnode[1-2] slots=2\nbig:16 # MPICH's\nother max_slots=3\n\nwide slots = 5\n"
    assert read_hosts(write(tmp_path, text)) == [
        Host("node1", 2),
        Host("node2", 2),
        Host("big", 16),
        Host("other", None),
        Host("wide", 5),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", "# nothing\n", "a:0\n", "-oProxyCommand=x\n", "a;b\n"),
        *("a slots=-1\n", "a slots=two\n", "a:-1\n", "a slots=\n", "a b c\n"),
        *("a[1-999999999]\n", "a[1-999]b[1-999]\n", "a[3-1]\n", "a[1-\n"),
    ],
)
def test_what_names_no_host(tmp_path: Path, text: str) -> None:
    with pytest.raises(Usage):
        read_hosts(write(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="No such file"):
        read_hosts(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("hosts", "ranks", "wanted"),
    [
        ([("a", 8), ("b", 8)], 16, [("a", 8), ("b", 8)]),
        ([("a", 4), ("b", 4), ("c", 4)], 6, [("a", 4), ("b", 2)]),
        ([("a", None), ("b", None)], 5, [("a", 3), ("b", 2)]),
        ([("a", 2), ("b", None), ("c", None)], 5, [("a", 2), ("b", 2), ("c", 1)]),
        ([("a", None), ("b", None), ("c", None)], 2, [("a", 1), ("b", 1)]),
    ],
)
def test_placement(
    hosts: list[tuple[str, int | None]], ranks: int, wanted: list[tuple[str, int]]
) -> None:
    found = place([Host(*one) for one in hosts], ranks, "--hosts f")
    assert found == [Placed(*one) for one in wanted]


def test_a_pack_asks_no_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it says of where it was recorded: there need not even be a network."""
    monkeypatch.setenv("RDB_HOME", str(tmp_path))
    meta = {"format": FORMAT, "name": "job", "nranks": 4, "hosts": ["node1", "node2"]}
    for folder, asked in (("job", ["node1", "node2"]), (f".packs/{'0' * 64}/job", [])):
        path = tmp_path / folder
        path.mkdir(mode=0o700, parents=True)
        (path / "job.json").write_text(to_json(meta))
        assert hosts_of(Job(path)) == asked


def test_too_few_are_refused() -> None:
    with pytest.raises(Usage, match="room for 3 ranks, the job has 4"):
        place([Host("a", 2), Host("b", 1)], 4, "--hosts f")


def test_what_no_host_can_be_asked_for_is_no_code_of_the_program(
    tmp_path: Path, build: Build
) -> None:
    program = str(build("mpi/ring.c", compiler="mpicc"))
    hosts = write(tmp_path, "nowhere.invalid slots=2\n")
    line = ("--hosts", hosts, "--", program)
    unreachable = run_rdb(tmp_path / "home", tmp_path, "run", "-n", "2", *line)
    assert unreachable.returncode == 125, unreachable.stderr
    assert unreachable.stderr.startswith("rdb: no agent on nowhere.invalid: ssh: ")
    assert len(unreachable.stderr.splitlines()) == 1
    small = run_rdb(tmp_path / "home", tmp_path, "run", "-n", "3", *line)
    assert small.returncode == 2
    assert "1 host with room for 2 ranks, the job has 3" in small.stderr
    assert not list((tmp_path / "home").glob("ring*"))
