"""One page at several addresses: recorded and replayed as the program sees it natively."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import deadlines
import pytest
from alone import Made, record, verify_all
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from hypothesis import given, settings
from hypothesis import strategies as st
from running import BuildText

from rdb.recording import RankRecording
from rdb.recording.log.record import Note

SLOTS = st.integers(0, 7)
FILES = st.integers(0, 3)
SMALL = st.integers(0, 40)
FLAG = st.integers(0, 1)
PROTECTIONS = st.sampled_from([1, 3, 3, 3])


def operation(name: str, *numbers: st.SearchStrategy[int]) -> st.SearchStrategy[str]:
    return st.tuples(*numbers).map(lambda values: " ".join([name, *map(str, values)]))


MAP = operation("map", SLOTS, FILES, FLAG, FLAG, PROTECTIONS, st.integers(0, 3), st.integers(1, 4))
STORE = operation("store", SLOTS, SMALL, SMALL)
OPERATIONS = [
    MAP,
    MAP,
    STORE,
    STORE,
    operation("over", SLOTS, FILES, FLAG),
    operation("put", FILES, st.integers(0, 8), SMALL, SMALL),
    operation("poke", SLOTS, st.integers(0, 3), SMALL, SMALL),
    operation("advise", SLOTS, st.integers(0, 3), st.integers(0, 2)),
    operation("prot", SLOTS, st.sampled_from([0, 1, 3])),
    operation("remap", SLOTS, SLOTS, st.integers(1, 4)),
    operation("keep", SLOTS, SLOTS),
    operation("keep", SLOTS, SLOTS),
    operation("cut", FILES, st.integers(1, 6), FLAG, FLAG),
    operation("anon", SLOTS, st.integers(1, 4), FLAG),
    operation("shmat", SLOTS, FLAG, FLAG),
    operation("part", SLOTS, FLAG),
    operation("child", SLOTS, SMALL, SMALL),
    operation("back", SLOTS, st.integers(0, 3), SMALL, SMALL),
]
SCRIPTS = st.lists(st.one_of(OPERATIONS), min_size=3, max_size=14).map("/".join)


@contextmanager
def directory() -> Iterator[Path]:
    with TemporaryDirectory(prefix="rdb-aliases-") as name:
        yield Path(name)


def natively(program: Path, script: str) -> str:
    with directory() as path:
        done = deadlines.run([program, path, script], 60)
    assert done.returncode == 0, (script, done.stdout)
    return done.stdout


def check(program: Path, script: str) -> None:
    """As natively; and replayed from each of its images to the same memory at each event."""
    expected = natively(program, script)
    with directory() as path:
        data = path / "data"
        data.mkdir()
        made = record(path, program, data, script, options=("--checkpoint-every", "40"))
        assert (made.result.returncode, made.result.stdout) == (0, expected), script
        verify_all(made, script)


@settings(max_examples=25)
@given(script=SCRIPTS)
def test_any_mappings_in_any_order(build: Build, script: str) -> None:
    check(build("aliases.c"), script)


MAPPINGS = {
    "memfd": "map 0 0 1 1 3 0 4/map 1 0 1 1 3 1 3",
    "memfd once": "map 0 0 1 1 3 0 4",
    "file": "map 0 1 1 1 3 0 4/map 1 1 0 1 3 0 4",
    "shm": "map 0 2 1 1 3 0 4/map 1 2 1 0 1 0 4",
    "anonymous": "anon 0 4 1/remap 0 1 4",
    "anonymous once": "anon 0 4 1",
    "System V": "shmat 0 0 0/shmat 1 0 0",
}
FORKS = {"alone": "", "forked": "/child 0 1 1"}


@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
@pytest.mark.parametrize("mappings", MAPPINGS.values(), ids=MAPPINGS)
def test_a_store_that_a_call_takes_back(build: Build, mappings: str, fork: str) -> None:
    """What a mapping held at the event before it holds again at the next one."""
    ways = "/".join(
        f"put 0 7 2 0/put 1 7 2 0/back 0 {way} {where} 7" for way in range(4) for where in (2, 9)
    )
    check(build("aliases.c"), f"{mappings}{fork}/advise 0 0 1/{ways}/back 0 2 5 9")


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = "magic_ring.c"
    folder, program = tmp_path_factory.mktemp("ring"), build(source, "-O0")
    options = ("--checkpoint-every", "20")
    made = Recorded(folder, program, PROGRAMS / source, options=options)
    assert made.done.returncode == 0, made.done.stderr
    return made


def shown(gdb: Gdb, at: str) -> str:
    return gdb.value(f"*(unsigned char (*)[4096]) ({at})")


def test_a_ring_that_is_mapped_twice_in_a_debugger(ring: Recorded) -> None:
    """Its sums are those that the program said, forwards and backwards, from whatever snapshot."""
    said = dict(line.split() for line in ring.done.stdout.splitlines() if line[0].isdigit())
    assert len(said) == 40
    with ring.gdb() as gdb:
        gdb.run("set print elements 0")
        gdb.run(f"break {ring.at('said')}")
        for direction, turns in (("", range(40)), ("reverse-", reversed(range(39)))):
            for turn in turns:
                gdb.run(f"{direction}continue")
                assert (gdb.value("turn"), gdb.value("sum")) == (str(turn), said[str(turn)])
                assert shown(gdb, "ring") == shown(gdb, "ring + 4096") == shown(gdb, "other")


def test_a_store_at_another_address_is_watched(ring: Recorded) -> None:
    with ring.gdb() as gdb:
        gdb.run("break put")
        gdb.run("continue")
        gdb.run("watch -location ring[7]")  # the first turn stores at ring[7 + 4096]
        said = gdb.run("continue")
        assert "Old value = 0" in said and "New value = 1" in said
        gdb.expect_at(ring.at("put"))
        assert gdb.integer("ring[7 + 4096]") == gdb.integer("other[7]") == 1
        gdb.run("reverse-continue")
        gdb.expect_at(ring.at("stored"))
        assert (
            gdb.integer("ring[7 + 4096]") == gdb.integer("ring[7]") == gdb.integer("other[7]") == 0
        )


def test_unrecorded_mappings_move_as_natively(tmp_path: Path, build: Build) -> None:
    program, data = build("aliases.c"), tmp_path / "data"
    data.mkdir()
    moves = "anon 0 3 1/remap 0 1 3/store 0 2 3/remap 0 0 4/map 2 1 1 1 3 0 4/remap 2 3 2"
    script = f"{moves}/store 3 1 1/map 4 1 0 0 3 0 2/remap 4 4 4/put 1 0 2 2"
    made = record(tmp_path, program, data, script, options=("--record=off",))
    assert (made.result.returncode, made.result.stdout) == (0, natively(program, script))


@pytest.mark.parametrize("how", ["ends", "maps", "opens", "passes"])
def test_large_shared_memory_is_compared_while_others_have_it(
    tmp_path: Path, build: Build, how: str
) -> None:
    """What a child stores is in the replay; where none has it any more, nothing is looked for."""
    program = build("shared_owners.c")
    native = deadlines.native([program, how])
    made = record(tmp_path, program, how, hash_every=5)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout)
    verify_all(made, how)
    recording = RankRecording(made.rank_dir, made.files)
    sleeps = [
        one
        for one in recording.records()
        if one.kind.is_event and recording.describe(one.event).startswith("clock_nanosleep(")
    ]
    assert len(sleeps) == 40
    assert how != "ends" or not any(chunk.note == Note.SHARED for chunk in sleeps[-1].chunks)


@pytest.mark.parametrize("how", ["file", "anonymous"])
def test_images_hold_large_shared_memory_as_it_is(tmp_path: Path, build: Build, how: str) -> None:
    """Stores that no event has looked at, and those made while the image is written."""
    options = ("--checkpoint-every", "50")
    path = tmp_path / "mapped"
    made = record(tmp_path, build("shared_large.c"), path, how, options=options, hash_every=20)
    assert made.result.returncode == 0, made.result.stdout
    assert len(list(made.rank_dir.glob("ckpt-*.img"))) > 3
    verify_all(made, how)


def test_breakpoints_in_code_that_is_mapped_twice(
    tmp_path_factory: pytest.TempPathFactory, build: Build
) -> None:
    """Each stop happens, and what the program sees through the other mapping has none in it."""
    source = "alias_code.c"
    program = build(source, "-O1")
    expected = deadlines.native([program]).stdout
    made = Recorded(tmp_path_factory.mktemp("code"), program, PROGRAMS / source)
    assert (made.done.returncode, made.done.stdout) == (0, expected)
    with made.gdb() as gdb:
        gdb.run("break made")
        gdb.run("continue")
        places = [gdb.integer("(long)rx + 16"), gdb.integer("(long)rx + 19")]
        for place in places:
            gdb.run(f"break *{place}")
        for turn in range(20):
            gdb.run("continue")
            assert gdb.integer("$pc") == places[turn % 2]
            assert gdb.integer("rw[16]") == gdb.integer("rx[16]") == 0x8D
        said = gdb.run("continue")
        assert "diverged" not in said and "exits with code 0" in said
        for turn in reversed(range(20)):
            gdb.run("reverse-continue")
            assert gdb.integer("$pc") == places[turn % 2]


def test_memory_that_stays_where_it_is_moved_from_and_libraries_of_its_own(
    tmp_path: Path, build: Build
) -> None:
    program, library = build("remapped.c", "-O1"), "/usr/lib/x86_64-linux-gnu/libz.so.1"
    native = [program, tmp_path / "n", library, tmp_path / "n-copy"]
    expected = subprocess.run(native, capture_output=True, text=True, check=True).stdout
    assert "error" not in expected
    options = ("--checkpoint-every", "8")
    made = record(tmp_path, program, tmp_path / "r", library, tmp_path / "r-copy", options=options)
    assert (made.result.returncode, made.result.stdout) == (0, expected), made.result.stderr
    verify_all(made, "remapped")


def test_writes_to_parts_of_what_is_mapped(tmp_path: Path, build: Build) -> None:
    """Only what a write may have changed is compared, where the mappings are large."""
    program = build("pwrite_parts.c", "-O1")
    done = deadlines.run([program, tmp_path / "native"], 60)
    assert done.returncode == 0
    options = ("--checkpoint-every", "50")
    made = record(tmp_path, program, tmp_path / "file", hash_every=10, options=options)
    assert (made.result.returncode, made.result.stdout) == (0, done.stdout)
    verify_all(made, "parts")


@pytest.mark.parametrize("how", ["memfd", "anonymous", "file"])
@pytest.mark.parametrize("mib", [9, 64])
def test_large_memory_that_two_processes_share_and_hardly_touch(
    tmp_path: Path, build: Build, how: str, mib: int
) -> None:
    """Compared at every event, or at turns only."""
    program = build("sparse_shared.c", "-O1", f"-DSIZE=({mib}<<20)")
    done = deadlines.native([program, how, tmp_path / "native"], check=False)
    assert done.returncode == 0
    options = ("--checkpoint-every", "40")
    made = record(tmp_path, program, how, tmp_path / "file", options=options, hash_every=10)
    assert made.result.returncode == 0
    assert sorted(made.result.stdout.split()) == sorted(done.stdout.split())
    verify_all(made, "parent")
    verify_all(Made(made.rank_dir / "child-1", made.files, made.result), "child")


HOLES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const long size = 8l << 30, step = size / 8;
	const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, size) || pwrite(fd, "x", 1, step) != 1)
		return 1;
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	long sum = 0;
	for (long at = 0; at < size; at += step)
		map[at] += (char)(at / step);
	if (pwrite(fd, "y", 1, 3 * step) != 1)
		return 2;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 * step, 4096))
		return 3;
	for (long at = 0; at < size; at += step)
		sum = sum * 31 + map[at];
	unsigned char *there = malloc(size / 4096);
	long pages = 0;
	if (argc > 2 && mincore(map, size, there))
		return 4;
	for (long i = 0; argc > 2 && i < size / 4096; i++)
		pages += there[i] & 1;
	printf("%ld %d\\n", sum, pages > 200000);
	return 0;
}
"""


def test_holes_of_a_mapped_file_are_not_read(tmp_path: Path, build_text: BuildText) -> None:
    """To read them would fill the page cache: at the mapping, at writes, and at the end."""
    program = build_text("holes", HOLES, "-O1")
    made = record(tmp_path, program, tmp_path / "file", "look")
    assert made.result.returncode == 0, made.result.stderr
    assert made.result.stdout.split()[1] == "0"
    native = deadlines.native([program, tmp_path / "native"])
    assert native.stdout.split()[0] == made.result.stdout.split()[0]
    verify_all(made, "holes")
    ended = deadlines.native([program, tmp_path / "file", "look"])
    assert ended.stdout.split()[1] == "0"
