"""The C log reader as a program of its own, built with sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


DRIVER = r"""
#include <stdio.h>
#include "log/log_index.h"
static size_t touched(const struct log_record *rec)
{
	size_t sum = 0;

	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));)
		for (unsigned k = 0; k < c->len; k++)
			sum += ((const unsigned char *)(c + 1))[k];
	return sum;
}

/* prints: return code, records, message; touches every byte that index and chunks name, also
   of a record whose successor has been given, as a replay does: it has to be the same still */
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct log_entry *entries;
		struct log_reader r;
		const struct log_record *rec, *before = NULL;
		size_t n, sum = 0, was = 0;
		char error[256] = "";
		int rc = log_index(argv[i], &entries, &n, error);
		log_index_free(entries);
		if (log_reader_open(&r, argv[i]) == 0) {
			for (; (rec = log_reader_next(&r)); before = rec) {
				if (before && touched(before) != was)
					return 3;
				sum += was = touched(rec);
			}
			log_reader_close(&r);
		}
		printf("%d %zu %d %s\n", rc, n, sum != 0, error);
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    (folder / "driver.c").write_text(DRIVER)
    subprocess.run(
        [
            "gcc",
            "-std=gnu17",
            "-g",
            "-D_GNU_SOURCE",
            "-msse4.2",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-I",
            ROOT / "interposer",
            folder / "driver.c",
            ROOT / "interposer" / "log/log_index.c",
            ROOT / "interposer" / "log/log_reader.c",
            ROOT / "interposer" / "log/log_segments.c",
            "-o",
            folder / "driver",
        ],
        check=True,
    )
    return folder / "driver"


def read(reader: Path, folders: list[Path]) -> list[tuple[int, int, str]]:
    done = subprocess.run([reader, *folders], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" ", 3) for line in done.stdout.splitlines()]
    return [(int(row[0]), int(row[1]), row[3]) for row in rows]


def variants(tmp_path: Path, images: list[bytes]) -> list[Path]:
    folders = []
    for number, data in enumerate(images):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "log-000000.seg").write_bytes(data)
        folders.append(folder)
    return folders
