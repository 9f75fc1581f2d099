"""Rows 16, 19 and 24: what comes from outside at any time, races, shared mappings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import PROGRAMS, SAMPLE, Build, Rdb
from gdbdriver import Gdb, Recorded
from scenario import everything, go

REPLAYS = 5 if SAMPLE else 20


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("async")
    source = "scenario_async.c"
    made = Recorded(folder, build(source, "-O0"), PROGRAMS / source, str(folder / "mapped"))
    assert made.done.returncode == 0, made.done.stderr
    return made


def test_row_16_the_handler_comes_at_the_same_position(gdb: Gdb, recorded: Recorded) -> None:
    _, turns = map(int, recorded.done.stdout.split())
    gdb.run(f"break {recorded.at('handler')}")
    gdb.run("continue")
    there = []
    for _ in range(3):
        gdb.expect_at(recorded.at("handler"))
        there.append(everything(gdb))
        assert [f.get("func") for f in gdb.frames()][-1] == "main"
        gdb.run("continue")
    gdb.run("goto START")
    again = []
    gdb.run("continue")
    for _ in range(3):
        again.append(everything(gdb))
        gdb.run("continue")
    assert again == there
    gdb.run("delete")
    go(gdb, recorded, "done")
    assert gdb.integer("turns") == turns


def test_row_16_a_reverse_watch_lands_in_the_handler(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "counted")
    gdb.run("watch alarms")
    before = gdb.integer("turns")
    alarms = gdb.integer("alarms")
    assert alarms >= 3  # one more may come on a busy machine before the timer is off
    for left in reversed(range(alarms)):
        gdb.run("reverse-continue")
        assert gdb.function() == "on_alarm"
        assert gdb.integer("alarms") == left
        now = gdb.integer("turns")
        assert 0 <= now <= before  # a busy machine: the first may come before the first turn
        before = now
    here = everything(gdb)
    gdb.run("reverse-stepi")
    gdb.run("undo")
    assert everything(gdb) == here


def test_row_19_a_race_has_one_outcome(rdb: Rdb, build: Build, rdb_home: Path) -> None:
    done = rdb(
        "run", "--name", "race", "--hash-every", "1", "--", build("threads_race.c", "-pthread")
    )
    assert done.returncode == 0, done.stderr
    answers = set()
    for _ in range(REPLAYS):
        replayed = rdb("replay", "race", "--verify", "--json")
        assert replayed.returncode == 0, replayed.stdout
        answers.add(
            json.dumps(
                [
                    {k: v for k, v in p.items() if k != "seconds"}
                    for p in json.loads(replayed.stdout)
                ]
            )
        )
    assert len(answers) == 1
    with Gdb("race", home=rdb_home) as gdb:
        gdb.run("goto END")
        assert gdb.integer("counter") == int(done.stdout)


def test_row_24_a_shared_mapping_goes_back_and_the_file_stays(gdb: Gdb, recorded: Recorded) -> None:
    file = recorded.folder / "mapped"
    content, written = file.read_bytes(), file.stat().st_mtime_ns
    assert content.startswith(b"second\0") and content[4096:].startswith(b"third\0")
    go(gdb, recorded, "unmap")
    after = gdb.value("shared"), gdb.value("shared + 4096")
    assert "second" in after[0] and "third" in after[1]
    gdb.run("reverse-next")
    gdb.expect_at(recorded.at("third"))
    assert "second" in gdb.value("shared")
    assert "by the kernel" in gdb.value("shared + 4096")
    go(gdb, recorded, "second")
    assert "first" in gdb.value("shared")
    gdb.run("next")
    assert "second" in gdb.value("shared")
    gdb.run("undo")
    assert "first" in gdb.value("shared")
    assert "by the kernel" in gdb.value("shared + 4096")
    gdb.run("goto END")
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (content, written)
