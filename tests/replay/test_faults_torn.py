"""Row 29: torn and altered logs and images are refused by file and offset, not replayed wrongly.

Every byte under `make test-faults`, a part of them otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Build, Rdb
from cutting import length, starts
from faults import EVERYTHING, Rank, tiny
from sanitized_reader import read, variants
from sanitized_reader import reader as reader

from rdb.errors import VersionMismatch
from rdb.recording import Kind

LOG, IMAGE = "log-000000.seg", "ckpt-000000.img"
NAMED = re.compile(
    rf"({LOG}|{IMAGE}): (damaged: )?offset \d+: expected |(log|image) v\d+, this rdb"
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Rank:
    """A log of about 3 KB, an image of 24 KB, a hash at every event."""
    rank = Rank.make(tmp_path_factory.mktemp("small"))
    assert rank.record(tiny(build), options=("--hash-every", "1")) == 3
    assert rank.verify()[0] == 0
    return rank


@pytest.fixture(scope="module")
def killed(small: Rank) -> bytes:
    """The same log as SIGKILL leaves it: no END, and room that was made for more."""
    whole = (small.path / LOG).read_bytes()
    return whole[: starts(whole)[-1]] + bytes(8192)


def flipped(data: bytes, every: int) -> Iterator[tuple[int, bytes]]:
    """(offset, data with one bit of that byte altered)."""
    for at in range(0, len(data), 1 if EVERYTHING else every):
        altered = bytearray(data)
        altered[at] ^= 1 << (at * 5 + at // 8) % 8
        yield at, bytes(altered)


def test_a_log_cut_anywhere(small: Rank, reader: Path, tmp_path: Path) -> None:
    """It ends where a record ends, or the damage is named."""
    log = (small.path / LOG).read_bytes()
    ends = {32, len(log), *starts(log)}
    cuts = [log[:size] for size in range(len(log) + 1)]
    for data, (code, records, error) in zip(
        cuts, read(reader, variants(tmp_path, cuts)), strict=True
    ):
        assert (code == 0) == (error == "") == (len(data) in ends), (len(data), error)
        if code == 0 or len(data) > 32:
            assert records == sum(
                start + 8 <= len(data) and end <= len(data)
                for start, end in zip(starts(log), [*starts(log)[1:], len(log)], strict=True)
            )


def test_a_killed_log_cut_anywhere(killed: bytes, reader: Path, tmp_path: Path) -> None:
    """Zeros are missing, or part of a record: what was before is read, or the damage is named."""
    last = starts(killed)[-1]
    whole = len(starts(killed))
    cuts = [killed[:size] for size in range(last - 200, len(killed), 7)]
    for data, (code, records, error) in zip(
        cuts, read(reader, variants(tmp_path, cuts)), strict=True
    ):
        assert (code == 0) == (error == ""), (len(data), error)
        assert records <= whole
    # And what a writer leaves that was killed in the middle of a record: all but its length.
    torn = bytearray(killed)
    torn[last : last + 4] = bytes(4)
    (tmp_path / "torn").mkdir()
    [(code, records, _)] = read(reader, variants(tmp_path / "torn", [bytes(torn)]))
    assert (code, records) == (0, whole - 1)


@pytest.mark.parametrize("closed", [True, False])
def test_every_flipped_byte_of_a_log_is_named(
    small: Rank, killed: bytes, reader: Path, tmp_path: Path, closed: bool
) -> None:
    log = (small.path / LOG).read_bytes() if closed else killed
    places = starts(log)
    end = len(log) if closed else places[-1] + length(log, places[-1])
    altered = list(flipped(log[:end], 1))
    data = [image + log[end:] for _, image in altered]
    # A length that becomes zero looks like the end of the log, but more follows.
    data += [log[:at] + bytes(4) + log[at + 4 :] for at in places[:-1]]
    for number, (code, _, error) in enumerate(read(reader, variants(tmp_path, data))):
        lost = not closed and number < end and data[number][places[-1] : places[-1] + 4] == bytes(4)
        assert code != 0 or lost, f"offset {number}: unnoticed"
        assert lost or NAMED.match(error), error


def replays(
    rank: Rank, name: str, altered: Iterator[tuple[int, bytes]], tmp_path: Path
) -> list[int]:
    """Verifies a replay of each; returns the offsets that were harmless."""
    expected = rank.verify()[1]

    def one(item: tuple[int, bytes]) -> list[int]:
        at, data = item
        copy = rank.copy(tmp_path / str(at))
        (copy.path / name).write_bytes(data)
        code, answer, said = copy.verify()
        if code == 0:
            assert answer == expected, f"offset {at}: another answer"
            return [at]
        assert code in (3, 5), f"{name}, offset {at}: exit code {code}: {said}"
        assert NAMED.search(f"{answer.get('what', '')} {said}"), (
            f"{name}, offset {at}: {answer} {said}"
        )
        return []

    with ThreadPoolExecutor(2) as pool:
        return [at for found in pool.map(one, altered) for at in found]


def test_no_replay_of_an_altered_log(small: Rank, tmp_path: Path) -> None:
    """A replica reads from where its image was taken; `rdb replay` reads all before that."""
    log = (small.path / LOG).read_bytes()
    recording = small.recording()
    place = recording.index.of_kind(Kind.CHECKPOINT)[0]
    begins = recording.index.record(place)._entry[3]
    harmless = replays(small, LOG, flipped(log, 17), tmp_path)
    assert all(at < begins for at in harmless)


def test_no_replay_of_an_altered_image(small: Rank, tmp_path: Path) -> None:
    """But where the byte is between two tables, and nobody's."""
    image = (small.path / IMAGE).read_bytes()
    altered = list(flipped(image, 101))
    harmless = replays(small, IMAGE, iter(altered), tmp_path)
    assert len(harmless) < len(altered) / 4


def test_no_replay_of_a_cut_image(small: Rank, tmp_path: Path) -> None:
    image = (small.path / IMAGE).read_bytes()
    sizes = range(0, len(image), 1 if EVERYTHING else 997)
    assert replays(small, IMAGE, ((n, image[:n]) for n in sizes), tmp_path) == []


def test_python_reads_nothing_wrong_from_an_altered_log(small: Rank, tmp_path: Path) -> None:
    log = (small.path / LOG).read_bytes()
    copy = small.copy(tmp_path)
    for _, data in flipped(log, 7):
        (copy.path / LOG).write_bytes(data)
        try:
            damage = copy.recording().damage
        except VersionMismatch as error:
            damage = str(error)
        assert damage is not None and NAMED.search(damage), damage


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Rank:
    """A log of several segments."""
    rank = Rank.make(tmp_path_factory.mktemp("long"))
    assert rank.record(build("fault_work.c", "-O1"), "8003", "5000") == 3
    assert len(list(rank.path.glob("log-*.seg"))) > 3
    return rank


Alter = Callable[[Path], None]


def cut_at_a_record(path: Path) -> None:
    segment = path / "log-000001.seg"
    data = segment.read_bytes()
    segment.write_bytes(data[: starts(data)[-5]])


ALTERED: dict[str, tuple[Alter, str]] = {
    "missing": (lambda path: (path / "log-000001.seg").unlink(), "log-000001.seg is missing"),
    "cut": (cut_at_a_record, r"log-000002.seg: offset \d+: expected the event that follows"),
    "exchanged": (
        lambda path: (path / "log-000001.seg").rename(path / "log-000002.seg") and None,
        "log-000001.seg is missing|intact segment header",
    ),
    "emptied": (lambda path: (path / "log-000001.seg").write_bytes(b"") and None, "offset 0"),
}


@pytest.mark.parametrize("how", ALTERED)
def test_segments_that_are_missing_or_cut(long: Rank, tmp_path: Path, how: str) -> None:
    alter, says = ALTERED[how]
    copy = long.copy(tmp_path)
    alter(copy.path)
    damage = copy.recording().damage
    assert damage is not None and re.search(says, damage), damage
    code, answer, said = copy.verify()
    assert code == 5
    assert re.search(says, f"{answer.get('what', '')} {said}"), (answer, said)


def test_what_the_commands_say(rdb: Rdb, build: Build, rdb_home: Path) -> None:
    """One line with file and offset, exit code 5, from each of them."""
    assert rdb("run", "--name", "job", "--", tiny(build)).returncode == 3
    rank = rdb_home / "job" / "rank-0"
    for name, at in ((LOG, 700), (IMAGE, 60), (IMAGE, -2000)):
        whole = (rank / name).read_bytes()
        data = bytearray(whole)
        data[at] ^= 4
        (rank / name).write_bytes(data)
        commands: tuple[tuple[str, ...], ...] = (
            ("replay", "job", "--verify"),
            ("bisect", "job", "1"),
            ("serve", "job", "--stdio"),
        )
        for command in commands + ((("info", "job"),) if name == LOG else ()):
            done = rdb(*command)
            assert done.returncode == 5, (command, done.stdout, done.stderr)
            said = done.stderr + (done.stdout if command[0] == "bisect" else "")
            assert len(done.stderr.splitlines()) <= 1, done.stderr
            assert NAMED.search(said), (command, said)
        assert rdb("ls").returncode == 0
        (rank / name).write_bytes(whole)
    assert rdb("replay", "job", "--verify").returncode == 0


@pytest.mark.parametrize("left", [b"", bytes(1 << 20), b"\0rdblog1" + bytes(1 << 16)])
def test_killed_while_a_segment_was_made(long: Rank, tmp_path: Path, left: bytes) -> None:
    """Nothing is in it: the log ends before it.  But not if a record is behind the lost header."""
    copy = long.copy(tmp_path)
    count = len(list(copy.path.glob("log-*.seg")))
    last = copy.path / f"log-{count - 1:06}.seg"
    whole = last.read_bytes()
    last.write_bytes(left)
    recording = copy.recording()
    assert recording.damage is None
    assert 0 < recording.last_event < long.recording().last_event
    assert recording.state == "killed"
    assert copy.verify()[0] == 0
    last.write_bytes(bytes(64) + whole[64:])
    damage = copy.recording().damage
    assert damage is not None and f"{last.name}: offset 0: expected" in damage
