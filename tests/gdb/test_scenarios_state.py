"""Rows 15, 21, 22 and 23: what is watched, and the world outside, which replay leaves alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from scenario import everything, go, moved

from rdb.recording import open_job

OUTSIDE = (
    *("seen.seconds", "seen.real.tv_nsec", "seen.monotonic.tv_nsec", "seen.cycles"),
    *("seen.random[0]", "seen.random[3]", "seen.pid", "seen.parent"),
    *("seen.heap", "seen.big", "seen.stack", "&here", "$rsp", "$fs_base"),
)


class World(Recorded):
    """A program that wrote to `file` and talked to `listener` while it was recorded."""

    def __init__(self, folder: Path, program: Path, source: Path) -> None:
        self.file = folder / "text"
        # Not in the test's folder: the path of a Unix socket is short.
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "s"))
        self.listener.listen(8)
        self.listener.setblocking(False)
        super().__init__(folder, program, source, str(self.file), str(folder / "s"))
        self.heard = b""
        peer, _ = self.listener.accept()  # the program has ended: all is there
        with peer:
            while part := peer.recv(100):
                self.heard += part

    def silent(self) -> bool:
        """Has nobody connected since?"""
        try:
            peer, _ = self.listener.accept()
        except BlockingIOError:
            return True
        peer.close()
        return False


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[World]:
    source = "scenario_world.c"
    made = World(tmp_path_factory.mktemp("world"), build(source, "-O0"), PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    yield made
    made.listener.close()


@pytest.fixture
def gdb(world: World) -> Iterator[Gdb]:
    with world.gdb() as session:
        yield session


def events(world: World) -> dict[int, str]:
    """Every event of the recording in words."""
    recording = open_job(world.home / "job").rank(0)
    return {event: recording.describe(event) for event in range(recording.last_event + 1)}


def test_row_15_writing_the_same_value_does_not_stop(gdb: Gdb, world: World) -> None:
    go(gdb, world, "after-same")
    gdb.run("watch x")
    said = gdb.run("reverse-continue")
    assert "Old value = 7" in said and "New value = 0" in said
    # Past both `x = x`, to the assignment that made it 7.
    gdb.expect_at(world.at("seven"))
    assert gdb.integer("x") == 0
    gdb.run("stepi")
    assert gdb.integer("x") == 7
    # Nor does it forward: nothing changes x until the end.
    go(gdb, world, "after-seven")
    assert "exits with code 0" in gdb.run("continue")


def test_row_15_the_first_change_has_nothing_before(gdb: Gdb, world: World) -> None:
    go(gdb, world, "after-same")
    gdb.run("watch x")
    gdb.run("reverse-continue")
    gdb.expect_at(world.at("seven"))
    assert not moved(gdb.run("reverse-continue"))
    assert gdb.state()["at_start"]
    gdb.run("continue")
    assert gdb.integer("x") == 7
    gdb.expect_at(world.at("after-seven"))


@pytest.mark.parametrize("expression", ["buffer[0]", "*(char (*)[3]) buffer"])
def test_row_15_a_read_into_the_buffer_stops_at_its_event(
    gdb: Gdb, world: World, expression: str
) -> None:
    go(gdb, world, "after-read")
    after = gdb.state()["event"]
    gdb.run(f"watch {expression}")
    gdb.run("reverse-continue")
    state = gdb.state()
    assert gdb.integer("buffer[0]") == 0
    # One stands at the system call: its answer is the next event, and is that read.
    assert state["event"] == after - 1
    assert events(world)[after].startswith("read(")
    assert gdb.run("backtrace").count(world.at("read")) == 1
    gdb.run("stepi")
    assert gdb.state()["event"] == after
    assert gdb.value("buffer").startswith('"two"')
    gdb.run("reverse-stepi")
    assert gdb.integer("buffer[0]") == 0
    # Forward it stops after that event.
    gdb.run("reverse-stepi")
    gdb.run("continue")
    assert gdb.state()["event"] == after
    assert gdb.value("buffer").startswith('"two"')


def test_row_15_last_names_the_event(gdb: Gdb, world: World) -> None:
    go(gdb, world, "after-read")
    after = gdb.state()["event"]
    said = gdb.run("last buffer")
    assert f"Changed by event {after}: read(" in said
    assert gdb.state()["event"] == after - 1


def test_row_21_no_file_is_touched(gdb: Gdb, world: World) -> None:
    def on_disk() -> tuple[bytes, int, int]:
        about = world.file.stat()
        return world.file.read_bytes(), about.st_mtime_ns, about.st_ino

    left = on_disk()
    assert left[0] == b"one two three more more more"
    go(gdb, world, "append")
    before = everything(gdb)
    for _ in range(3):
        gdb.run("next")
    assert on_disk() == left
    gdb.run("undo 3")
    assert everything(gdb) == before
    assert on_disk() == left
    gdb.run("goto END")
    gdb.run("reverse-continue")
    gdb.run("continue")
    assert on_disk() == left


def test_row_21_a_file_that_is_gone_stays_gone(gdb: Gdb, world: World) -> None:
    """Also another one in its place is not written."""
    content = world.file.read_bytes()
    world.file.unlink()
    try:
        go(gdb, world, "appended")
        assert gdb.value("buffer").startswith('"two"')
        gdb.run("goto END")
        assert not world.file.exists()
        world.file.write_bytes(b"somebody else's")
        gdb.run("reverse-continue")
        gdb.run("continue")
        assert world.file.read_bytes() == b"somebody else's"
    finally:
        world.file.write_bytes(content)


def test_row_22_nothing_is_sent_again(gdb: Gdb, world: World) -> None:
    assert world.heard == b"hello, world"
    assert world.done.stdout == "first line\nsecond line\n"
    go(gdb, world, "connect")
    said = [gdb.run("next") for _ in range(2)]
    gdb.expect_at(world.at("sent"))
    gdb.run("undo 2")
    gdb.expect_at(world.at("connect"))
    said.append(gdb.run("continue"))
    assert gdb.state()["at_end"]
    said.append(gdb.run("reverse-continue"))
    assert world.silent()
    printed = {line for text in said for line in text.splitlines()}
    assert not printed & {"first line", "second line", "a complaint"}


def test_row_22_the_recorded_output_is_shown(gdb: Gdb, world: World) -> None:
    go(gdb, world, "sent")
    assert gdb.run("output --raw") == ""
    assert "hello, world" in gdb.run("output --all")
    gdb.run(f"tbreak {world.at('flushed')}")
    gdb.run("continue")
    assert gdb.run("output --raw") == "first line\n"
    gdb.run("goto END")
    assert gdb.run("output --raw") == "first line\nsecond line\na complaint\n"
    gdb.run("undo")
    assert gdb.run("output --raw") == "first line\n"
    gdb.run("goto START")
    assert gdb.run("output --raw") == ""


def test_row_23_the_world_is_the_same_after_every_undo(gdb: Gdb, world: World) -> None:
    go(gdb, world, "gather")
    before = everything(gdb)
    gdb.run(f"tbreak {world.at('gathered')}")
    gdb.run("continue")
    first = [gdb.value(name) for name in OUTSIDE]
    assert "0" not in first[:8]
    for _ in range(2):
        gdb.run("undo")
        assert everything(gdb) == before
        gdb.run("continue")
        gdb.expect_at(world.at("gathered"))
        assert [gdb.value(name) for name in OUTSIDE] == first
    # Statement by statement, each undone and done again.
    go(gdb, world, "gather")
    while gdb.where() != world.at("gathered"):
        gdb.run("next")
        after = everything(gdb), gdb.value("seen")
        gdb.run("undo")
        gdb.run("next")
        assert (everything(gdb), gdb.value("seen")) == after
    assert [gdb.value(name) for name in OUTSIDE] == first


def test_row_23_and_in_another_session(world: World) -> None:
    def gathered() -> list[str]:
        with world.gdb() as gdb:
            go(gdb, world, "gathered")
            return [gdb.value(name) for name in OUTSIDE]

    first = gathered()
    assert gathered() == first
    # They are those of the recorded process, not of this one or of the replica.
    recording = open_job(world.home / "job").rank(0)
    assert int(first[6]) == recording.meta["pid"]
    assert abs(int(first[0]) - recording.meta["started_ns"] / 1e9) < 60
    assert int(first[6]) != os.getpid()
