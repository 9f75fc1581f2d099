"""`rdb replay --verify` on recordings that were altered and whose checksums were put right again:
a divergence is an error, and it is told by event, page and what the program was doing."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Build, Rdb

from rdb.crc32c import crc32c, crc32c_data
from rdb.recording import Kind, Note, RankRecording, open_job
from rdb.recording.log.record import Record

BuildText = Callable[..., Path]

PROGRAM = r"""
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static char table[8192] __attribute__((aligned(4096)));
__attribute__((noinline)) static long ask(int fd)
{
	char text[200];
	long n = read(fd, text, sizeof(text)); /* ask-read */
	memcpy(table + 4096, text, (size_t)n);
	return n;
}
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	long n = ask(fd);
	for (long i = 0; i < 6; i++)
		syscall(SYS_getppid, i, 0, 0, 0, 0, 0);
	if (table[4096] == 'X')
		syscall(SYS_getuid, 0, 0, 0, 0, 0, 0); /* other */
	syscall(SYS_getppid, table[4097] == 'X', 0, 0, 0, 0, 0);
	return (int)n;
}
"""


@pytest.fixture
def record(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> Callable[[int], RankRecording]:
    (tmp_path / "input").write_text("hello")
    program = build_text("asks", PROGRAM, "-O1")

    def run(hash_every: int) -> RankRecording:
        done = rdb("run", "--name", "job", "--hash-every", str(hash_every), "--", program, "input")
        assert done.returncode == 5, done.stderr
        assert rdb("replay", "job", "--verify").returncode == 0
        return open_job("job").rank(0)

    return run


def the_read(recording: RankRecording) -> Record:
    (found,) = (
        record for record in recording.records() if record.kind is Kind.SYSCALL and record.nr == 0
    )
    return found


def alter(recording: RankRecording, record: Record, at: int, new: bytes) -> None:
    """Puts bytes into the record's only chunk, and a checksum that matches."""
    path = recording.path / "log-000000.seg"
    data = bytearray(path.read_bytes())
    _, _, _, offset, _, size, *_ = record._entry
    head = 56 + 8 * len(record.args)
    chunk = offset + head
    length = struct.unpack_from("<I", data, chunk + 8)[0]
    data[chunk + 16 + at : chunk + 16 + at + len(new)] = new
    check = crc32c(0, data[offset + 16 : chunk])
    check = crc32c(check, data[chunk : chunk + 16])
    check = crc32c_data(check, data[chunk + 16 : chunk + 16 + length])
    check = crc32c(check, data[chunk + 16 + length : offset + size])
    struct.pack_into("<I", data, offset + 4, check)
    path.write_bytes(data)


def answer(rdb: Rdb) -> dict[str, object]:
    done = rdb("replay", "job", "--verify", "--json")
    assert done.returncode == 5
    result, *_ = json.loads(done.stdout)  # its children after it
    assert result["ok"] is False
    return dict(result)


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def test_with_every_event_the_page_that_the_answer_changed(
    rdb: Rdb, record: Callable[[int], RankRecording]
) -> None:
    recording = record(1)
    read = the_read(recording)
    alter(recording, read, 2, b"L")
    result = answer(rdb)
    buffer = read.args[1]
    assert result["event"] == read.event
    assert (result["page"], result["pages"]) == (f"{buffer & ~0xFFF:#x}", 1)
    assert result["mapping"] == "stack"
    done = rdb("replay", "job", "--verify")
    assert done.returncode == 5
    (line,) = done.stderr.splitlines()
    assert f"memory differs at event {read.event} (it agreed at {read.event - 1})" in line
    assert f"page {buffer & ~0xFFF:#x} differs (stack)" in line
    said = re.escape(f"event {read.event} is {recording.describe(read.event)}, called in ")
    assert re.search(said + rf"ask \(asks\.c:{line_of('ask-read')}\)$", line), line


def test_with_fewer_hashes_the_lowest_page(
    rdb: Rdb, record: Callable[[int], RankRecording]
) -> None:
    recording = record(4)
    read = the_read(recording)
    alter(recording, read, 2, b"L")
    result = answer(rdb)
    assert result["event"] == next(n for n in range(0, 100, 4) if n > read.event)
    assert int(str(result["pages"])) >= 2  # the table, and what is left on the stack
    assert result["mapping"] == ".bss of asks"
    assert "getppid" in str(result["doing"])


def test_a_divergence_shows_even_before_the_first_hash(
    rdb: Rdb, record: Callable[[int], RankRecording]
) -> None:
    recording = record(0)
    assert not [r for r in recording.records() if r.kind is Kind.HASH and r.nr == 0]
    alter(recording, the_read(recording), 0, b"X")
    result = answer(rdb)
    assert re.search(r"recorded getppid\(2\), replayed getuid\(2\)", str(result["what"]))
    event = int(str(result["event"]))
    assert recording.describe(event) == "getppid() = " + str(recording.event(event).result)
    place = f"main (asks.c:{line_of('/* other */')})"
    assert str(result["doing"]).endswith(f"; the replay calls something else in {place}")


def test_a_divergence_of_an_argument(rdb: Rdb, record: Callable[[int], RankRecording]) -> None:
    recording = record(0)
    alter(recording, the_read(recording), 1, b"X")
    assert "argument 0 was 0, is 0x1" in str(answer(rdb)["what"])


# A child writes to shared memory long before the answer that is altered.
SHARED = PROGRAM.replace("#include <unistd.h>", "#include <unistd.h>\n#include <sys/mman.h>\n"
    "#include <sys/wait.h>").replace(
    "	long n = ask(fd);",
    "	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n"
    "	if (fork() == 0) {\n"
    "		*page = 1;\n"
    "		_exit(0);\n"
    "	}\n"
    "	wait(0);\n"
    "	long n = ask(fd);",
)  # fmt: skip


@pytest.mark.parametrize("every", [1, 0])
def test_others_stores_are_blamed_where_they_were_seen_since_memory_agreed(
    every: int, rdb: Rdb, build_text: BuildText, tmp_path: Path
) -> None:
    (tmp_path / "input").write_text("hello")
    program = build_text("shares", SHARED, "-O1")
    done = rdb("run", "--name", "job", "--hash-every", str(every), "--", program, "input")
    assert done.returncode == 5, done.stderr
    recording = open_job("job").rank(0)
    alter(recording, the_read(recording), 0, b"X")
    said = str(answer(rdb)["what"])
    if every:  # memory agreed after them
        assert "other processes wrote" not in said
        assert "the cause is not known: a watchpoint in that page" in said
        return
    told = r"the cause is not known: between events \d+ and \d+ other processes wrote to shared "
    told += r"memory at 0x\w+; the program may have read it in between, "
    told += "and memory was not compared since"
    assert re.search(told, said), said
    (tmp_path / "script").write_text("goto end\n")
    attached = rdb("attach", "job", "-x", "script")
    assert attached.returncode == 1
    assert re.search(told, attached.stdout + attached.stderr), attached


def test_a_cause_that_is_not_known(rdb: Rdb, record: Callable[[int], RankRecording]) -> None:
    recording = record(0)
    alter(recording, the_read(recording), 0, b"X")
    said = str(answer(rdb)["what"])
    assert said.endswith("; the cause is not known: record again with --hash-every 1, "
                         "and a replay names event and page")  # fmt: skip


def test_hashes_of_pages_are_kept_only_when_asked_for(
    rdb: Rdb, record: Callable[[int], RankRecording]
) -> None:
    def notes(recording: RankRecording) -> list[int]:
        return [
            len(chunk.data) // 8 - 1
            for record in recording.records()
            if record.kind is Kind.HASH
            for chunk in record.chunks
            if chunk.note == Note.PAGES
        ]

    assert notes(record(0)) == []
    rdb("rm", "job")
    first, *others = notes(record(1))
    assert first > 20  # all pages; then those that changed
    assert others and max(others) < first / 2 and min(others) <= 2


def test_a_childs_first_hash_names_all_its_pages(rdb: Rdb, rdb_home: Path) -> None:
    """It is a recording of its own, and does not go on from its parent's last hash."""
    script = "(read x < /dev/null; :); (:); exit 3"
    assert rdb("run", "--name", "job", "--hash-every", "1", "--", "/bin/sh", "-c", script)
    assert rdb("replay", "job", "--verify").returncode == 0
    processes = list(open_job("job").processes())
    assert len(processes) == 3
    for process in processes:
        words = [
            struct.unpack_from("<Q", chunk.data)[0]
            for record in process.main.records()
            if record.kind is Kind.HASH
            for chunk in record.chunks
        ]
        assert len(words) > 1
        assert words == [1] + [0] * (len(words) - 1)


def test_a_program_that_never_comes_to_its_next_event(rdb: Rdb, build: Build) -> None:
    """It counts its looks at memory that another process writes to: given up, by processor time."""
    program = build("counts_looks.c", "-O1")
    done = rdb("run", "--name", "looks", "--hash-every=1", "--no-children", "--", program)
    assert (done.returncode, done.stdout) == (0, "looks: some\n"), done.stderr
    replayed = rdb("replay", "looks", "--patience", "1")
    assert replayed.returncode == 5
    assert "without reaching the next event" in replayed.stderr
    assert "shared memory" in replayed.stderr
    assert rdb("replay", "looks", "--patience", "0").returncode == 2
