"""Rows 28 and 29 in GDB: the disk that filled, logs and images that are not what was written."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from faults import NO_MOUNTS, small_disk
from gdbdriver import Gdb, Recorded
from scenario import everything, moved

from rdb.recording import RankRecording, open_job

# ---- row 28 ----


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    """The store of a job whose disk filled, elsewhere since."""
    folder = tmp_path_factory.mktemp("filled")
    program = build("fault_work.c", "-O0")
    run = f"RDB_HOME={folder}/disk/home {sys.executable} -m rdb run --name job"
    done = small_disk(
        "5m",
        folder / "disk",
        f"{run} -- {program} 10003 5000 > {folder}/out; echo $?\n"
        f"cp -a {folder}/disk/home {folder}/kept",
    )
    assert done.stdout == "3\n", done.stderr
    return folder / "kept"


@pytest.mark.skipif(bool(NO_MOUNTS), reason=NO_MOUNTS)
def test_row_28_what_was_kept_is_usable(filled: Path) -> None:
    last = open_job(filled / "job").rank(0).last_event
    with Gdb("job", home=filled) as gdb:
        assert f"events 0 to {last}, disk full" in gdb.opened
        start = everything(gdb)
        said = gdb.run("continue")
        assert "end of the recording: disk full: the rest was not recorded" in said
        end = everything(gdb)
        state = gdb.state()
        assert state["at_end"] and state["event"] == last
        # All that had been done until then is there: three calls are a round.
        rounds = gdb.integer("rounds")
        assert 0 < last // 3 - rounds < 30
        printed = gdb.run("output --raw")
        # Its number is printed after the round is counted.
        assert printed.startswith("".join(f"{n}\n" for n in range(rounds - 1)))
        assert (filled.parent / "out").read_text().startswith(printed)
        # There is no further, but back, ...
        assert not moved(gdb.run("stepi"))
        assert everything(gdb) == end
        for there, back in (("reverse-stepi", "stepi"), ("reverse-step", "continue")):
            gdb.run(there)
            assert everything(gdb) != end
            assert not gdb.state()["at_end"]
            gdb.run(back)
            assert everything(gdb) == end
        # ... and the same way once more.
        gdb.run("goto START")
        assert everything(gdb) == start
        assert "disk full" in gdb.run("goto END")
        assert everything(gdb) == end


# ---- row 29 ----

LOG, FIRST, LATER = "log-000000.seg", "ckpt-000000.img", "ckpt-000002.img"
NAMED = r"[^\n]*{}: (damaged: )?offset \d+: expected [^\n]+"
LOST = r"rdb: the events before {} are lost: "


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    """A recording with several images."""
    folder, source = tmp_path_factory.mktemp("damage"), "scenario_damage.c"
    limits = ("--checkpoint-every", "50events")
    made = Recorded(folder, build(source, "-O0"), PROGRAMS / source, options=limits)
    assert made.done.returncode == 0, made.done.stderr
    assert len(open_job(made.home / "job").rank(0).images) > 2
    return made


@pytest.fixture(scope="module")
def whole(made: Recorded) -> RankRecording:
    return open_job(made.home / "job").rank(0)


@pytest.fixture(scope="module")
def gdb(made: Recorded) -> Iterator[Gdb]:
    """One session for all that is damaged: after each it is as usable as before."""
    with Gdb(home=made.home) as session:
        yield session


def torn(data: bytes) -> bytes:
    """In the middle of a record: those begin at even offsets."""
    return data[: len(data) * 2 // 3 | 1]


def flipped(data: bytes) -> bytes:
    """In the last page: of an image it is one of the program's, of a log in its records."""
    at = len(data) - 2000
    return data[:at] + bytes((data[at] ^ 0x10,)) + data[at + 1 :]


Alter = Callable[[bytes], bytes]


def altered(home: Path, name: str, alter: Alter) -> str:
    """The name of a copy of the job, one of whose files is not what was written."""
    job = f"{name}-{alter.__name__}"
    shutil.copytree(home / "job", home / job)
    path = home / job / "rank-0" / name
    path.write_bytes(alter(path.read_bytes()))
    return job


@pytest.mark.parametrize("alter", [torn, flipped])
def test_row_29_opening_without_the_first_image(
    gdb: Gdb, made: Recorded, whole: RankRecording, alter: Alter
) -> None:
    """The recording begins at the next one, and says so; from there on nothing is different."""
    begins = whole.images[1].event
    places = (str(begins), str(begins + 1), str(whole.images[2].event + 4), "END")

    def seen() -> list[tuple[str, str, str]]:
        found = []
        for place in places:
            gdb.run(f"goto {place}")
            found.append(everything(gdb))
        return found

    gdb.run("rdb-open job")
    sound = seen()
    lost = LOST.format(begins) + NAMED.format(re.escape(FIRST)) + "\n"
    said = gdb.run(f"rdb-open {altered(made.home, FIRST, alter)}")
    assert f"events {begins} to {whole.last_event}, exited 0.\n" in said
    assert re.search(lost, said), said
    assert gdb.state()["at_start"]
    assert everything(gdb) == sound[0]
    assert seen() == sound
    for before in (0, begins - 1):
        refused = gdb.fails(f"goto {before}")
        assert refused.startswith(f"event {before} is not in the recording: it begins at {begins}")
        assert re.search(LOST.format(begins)[5:] + NAMED.format(re.escape(FIRST)), refused), refused
        assert everything(gdb) == sound[-1]
    gdb.run("goto START")
    assert everything(gdb) == sound[0]
    assert not moved(gdb.run("reverse-continue"))
    assert everything(gdb) == sound[0]
    gdb.run("continue")
    assert everything(gdb) == sound[-1]
    assert gdb.integer("rounds") == 80


@pytest.mark.parametrize("alter", [torn, flipped])
def test_row_29_opening_a_damaged_log(
    gdb: Gdb, made: Recorded, whole: RankRecording, alter: Alter
) -> None:
    said = gdb.fails(f"rdb-open {altered(made.home, LOG, alter)}")
    assert re.fullmatch(NAMED.format(re.escape(LOG)), said), said
    assert "rdb-open" in gdb.fails("goto START")  # nothing is open, and this says how
    # The same GDB shows the recording that is whole.
    assert f"events 0 to {whole.last_event}, exited 0" in gdb.run("rdb-open job")
    gdb.run("goto END")
    assert gdb.integer("rounds") == 80


@pytest.mark.parametrize("alter", [torn, flipped])
def test_row_29_going_where_a_damaged_image_leads(
    gdb: Gdb, made: Recorded, whole: RankRecording, alter: Alter
) -> None:
    """An older image leads there, and that is said once."""
    image = next(one for one in whole.images if one.path.name == LATER)
    before, behind = image.event - 60, image.event + 4
    gdb.run("rdb-open job")
    gdb.run(f"goto {before}")
    there = everything(gdb)
    gdb.run(f"goto {behind}")
    past = everything(gdb)
    gdb.run("watch rounds")
    gdb.run("reverse-continue")
    back = everything(gdb)
    gdb.run("delete")
    gdb.run(f"rdb-open {altered(made.home, LATER, alter)}")
    said = gdb.run(f"goto {behind}")
    told = "rdb: an older checkpoint is used: " + NAMED.format(re.escape(LATER)) + "\n"
    assert re.match(told, said), said
    assert everything(gdb) == past
    gdb.run(f"goto {before}")
    assert everything(gdb) == there
    gdb.run("stepi")
    gdb.run("reverse-stepi")
    assert everything(gdb) == there
    assert "checkpoint" not in gdb.run(f"goto {behind}")
    assert everything(gdb) == past
    gdb.run("watch rounds")
    gdb.run("reverse-continue")
    assert everything(gdb) == back
    gdb.run(f"goto {before}")
    assert everything(gdb) == there
