"""The C log reader under Address- and UndefinedBehaviorSanitizer, on whole and damaged logs."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from sanitized_reader import ROOT, read, variants
from sanitized_reader import reader as reader

from rdb.crc32c import crc32c_data
from rdb.errors import RdbError
from rdb.paths import rdb_exec_path
from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Note


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("log")
    (folder / "rank").mkdir()
    (folder / "files").mkdir()
    subprocess.run(
        [
            rdb_exec_path(),
            "--dir",
            folder / "rank",
            "--files",
            folder / "files",
            "--hash-every",
            "1",
            "--",
            "/bin/ls",
            "/",
        ],
        check=True,
        capture_output=True,
    )
    return (folder / "rank" / "log-000000.seg").read_bytes()


def test_a_record_is_there_when_the_next_segment_has_begun(reader: Path, tmp_path: Path) -> None:
    (tmp_path / "rank").mkdir()
    (tmp_path / "files").mkdir()
    where = ("--dir", tmp_path / "rank", "--files", tmp_path / "files")
    program = ("/usr/bin/sha1sum", Path(sys.executable).resolve())  # nothing but reads
    subprocess.run([rdb_exec_path(), *where, "--", *program], check=True, capture_output=True)
    assert (tmp_path / "rank/log-000001.seg").exists()
    [(code, records, error)] = read(reader, [tmp_path / "rank"])
    assert (code, error) == (0, "") and records > 100


def test_scenario_29_a_cut_log_gives_what_was_before_or_names_the_damage(
    reader: Path, log: bytes, tmp_path: Path
) -> None:
    [(whole_code, whole, _)] = read(reader, variants(tmp_path, [log]))
    assert (whole_code, whole > 20) == (0, True)
    cuts = [log[:n] for n in range(0, len(log), max(1, len(log) // 300))]
    (tmp_path / "cut").mkdir()
    for data, (code, records, error) in zip(
        cuts, read(reader, variants(tmp_path / "cut", cuts)), strict=True
    ):
        assert records <= whole
        assert (code == 0) == (error == ""), (len(data), error)


def test_scenario_29_a_flipped_bit_is_named_with_its_offset(
    reader: Path, log: bytes, tmp_path: Path
) -> None:
    chance = random.Random(20)
    flipped = []
    record, lengths = 32, []
    while record < len(log):  # struct log_segment_header, then record by record
        lengths.append(record)
        record += int.from_bytes(log[record : record + 4], "little") & ~7  # LOG_SHORT
    for at in lengths:  # a length that becomes zero looks like the end of the log
        flipped.append(log[:at] + bytes(4) + log[at + 4 :])
    for _ in range(300):
        data = bytearray(log)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        flipped.append(bytes(data))
    for code, _, error in read(reader, variants(tmp_path, flipped)):
        assert code != 0, "a flipped bit went unnoticed"
        assert error.startswith(("log-000000.seg: offset", "log v")), error


CHECKSUMS = r"""
#include <stdio.h>
#include <stdlib.h>
#include "base/crc32c.h"
/* bytes: the checksum of so much data, and whether the wide way agrees with the instruction */
int main(int argc, char **argv)
{
	static unsigned char data[1 << 20];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * i >> 7 ^ i);
	for (int i = 1; i < argc; i++) {
		size_t n = strtoul(argv[i], NULL, 10), words = n & ~7ul;
		uint64_t w, state = 5, wide = 5;
		for (size_t at = 0; at < words; at += 8) {
			memcpy(&w, data + 1 + at, 8);
			state = _mm_crc32_u64(state, w);
		}
		if (crc32c_wide_there())
			wide = crc32c_wide_words(wide, data + 1, words);
		else
			wide = state;
		printf("%u %d\n", crc32c_data(7, data, n), state == wide);
	}
	return 0;
}
"""


def test_segments_are_mapped_a_few_at_a_time(log: bytes, tmp_path: Path) -> None:
    (tmp_path / "log-000000.seg").write_bytes(log)
    index, most = LogIndex(tmp_path), len(os.listdir("/proc/self/fd")) + 100
    for number in range(1, 300):
        (tmp_path / f"log-{number:06}.seg").write_bytes(bytes([2 * (number % 128)]) * 4096)
    views = [index.bytes_of(number, 8, 8) for number in (1, 2)]
    for number in range(1, 300):
        assert index.bytes_of(number, 8, 1)[0] == 2 * (number % 128)
        assert len(os.listdir("/proc/self/fd")) < most
    assert [view[0] for view in views] == [2, 4]
    (tmp_path / "log-000001.seg").unlink()
    with pytest.raises(RdbError, match="is gone"):
        LogIndex(tmp_path).bytes_of(1, 8, 8)


def test_checksums_are_those_of_the_definition(tmp_path: Path) -> None:
    """Of large data, too, which C takes by wider registers where the processor has them."""
    (tmp_path / "sums.c").write_text(CHECKSUMS)
    options = ["-std=gnu17", "-O2", "-D_GNU_SOURCE", "-msse4.2", "-I", ROOT / "interposer"]
    program = tmp_path / "sums"
    subprocess.run(["gcc", *options, tmp_path / "sums.c", "-o", program], check=True)
    sizes = [0, 5, 4095, 4096, 4097, 8192 + 24, 70000, 300001]
    done = deadlines.native([program, *map(str, sizes)])
    data = bytes(((i * i >> 7) ^ i) & 0xFF for i in range(max(sizes)))
    expected = [f"{crc32c_data(7, data[:size])} 1" for size in sizes]
    assert done.stdout.splitlines() == expected


def test_each_note_has_a_number_of_its_own() -> None:
    """The same below and above: whoever reads a log takes a note for what it is."""
    text = (ROOT / "interposer/interface/host.h").read_text()
    below = re.findall(r"^\tRDB_NOTE_(\w+) = (\d+),", text, re.MULTILINE)
    assert len({number for _, number in below}) == len(below) > 20
    above = {name: str(one.value) for name, one in Note.__members__.items()}
    assert above.items() <= dict(below).items()
