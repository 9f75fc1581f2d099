"""Rows 12, 14 and 18: a change late in the run, a local out of scope, threads under a mutex."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from scenario import everything

from rdb.recording import open_job
from rdb.timeline.timeline import Timeline


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    """With checkpoints, the last of them before the change of `late`."""
    source = "scenario_spans.c"
    folder = tmp_path_factory.mktemp("spans")
    made = Recorded(folder, build(source, "-O0"), PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    events = open_job(made.home / "job").rank(0).last_event
    deadlines.native(
        [
            *(sys.executable, "-m", "rdb", "run", "--name", "kept", "--checkpoint-every"),
            *((events - 10) // 2, "--", build(source, "-O0")),
        ],
        env={**os.environ, "RDB_HOME": str(made.home)},
        cwd=folder,
    )
    return made


@pytest.fixture
def kept(spans: Recorded) -> Iterator[Gdb]:
    with Gdb("kept", home=spans.home) as session:
        yield session


def test_row_12_the_change_comes_after_the_last_checkpoint(kept: Gdb, spans: Recorded) -> None:
    found = json.loads(kept.run("bisect late --json"))
    assert f"scenario_spans.c:{found['line']}" == spans.at("late")
    assert (found["before"], found["after"]) == ("1", "0")
    images = open_job(spans.home / "kept").rank(0).images
    assert len(images) > 1
    assert images[-1].event < found["event"]
    kept.expect_at(spans.at("late"))
    assert kept.integer("late") == 1
    kept.run("stepi")
    assert kept.integer("late") == 0


def test_row_14_a_local_that_is_there_part_of_the_time(kept: Gdb, spans: Recorded) -> None:
    found = json.loads(kept.run("bisect roam::depth < 6 --json"))
    assert f"scenario_spans.c:{found['line']}" == spans.at("deeper")
    assert (found["before"], found["after"]) == ("1", "0")
    assert found["undefined"] > 0
    kept.expect_at(spans.at("deeper"))
    assert kept.integer("limit") == 9
    kept.run("goto START")
    assert re.search(r"\d+ probes, [1-9]\d* without a value", kept.run("bisect roam::depth < 6"))


def test_row_14_undefined_is_neither_good_nor_bad(kept: Gdb) -> None:
    """It never turns bad where it has a value: that it has none elsewhere is no edge."""
    before = everything(kept)
    assert "true as long as" in kept.fails("bisect roam::depth < 100")
    assert "undefined" in kept.fails("bisect nowhere::never_seen == 5")
    assert everything(kept) == before


# Row 18.


@pytest.fixture(scope="module")
def mutex(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = "threads_mutex.c"
    folder = tmp_path_factory.mktemp("mutex")
    made = Recorded(folder, build(source, "-O0", "-pthread"), PROGRAMS / source)
    assert made.done.stdout == "10000 10\n", made.done.stderr
    return made


def adding(mutex: Recorded) -> str:
    lines = Path(mutex.source).read_text().splitlines()
    number = next(n for n, line in enumerate(lines, start=1) if "total += (long)arg" in line)
    return f"{mutex.source.name}:{number}"


def test_row_18_the_right_thread_is_named(mutex: Recorded) -> None:
    with mutex.gdb() as gdb:
        gdb.run("goto END")
        gdb.run(f"break {adding(mutex)} if i == 999")
        threads = []
        for _ in range(4):
            text = gdb.run("reverse-continue")
            number = gdb.integer("$_thread")
            assert f'Thread {number} "' in text
            assert gdb.integer("(long)arg") == number - 1
            assert f"* {number} " in gdb.run("info threads")
            threads.append(number)
        assert sorted(threads) == [2, 3, 4, 5]
        gdb.run("undo")
        assert gdb.integer("$_thread") == threads[2]


def test_row_18_twenty_replays_have_one_memory(mutex: Recorded) -> None:
    with mutex.gdb() as gdb:
        for _ in range(5):
            gdb.run("goto START")
            gdb.run("continue")
            assert (gdb.integer("total"), gdb.state()["at_end"]) == (10000, True)
    hashes = set()
    for _ in range(20):
        with Timeline(open_job(mutex.home / "job").rank(0)) as timeline:
            timeline.goto_end()
            hashes.add(timeline.hash())
    assert len(hashes) == 1
