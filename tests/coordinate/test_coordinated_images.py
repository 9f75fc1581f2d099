"""Images of jobs without a log: compressed, and each holds only what has changed."""

from __future__ import annotations

import sys
from pathlib import Path

import deadlines
import pytest
from imagefile import read_image
from running import DEADLINE_S, BuildText, Running

OLDER = (sys.executable, str(Path(__file__).parents[1] / "kit" / "older_kernel.py"))
MEMORY = 8 << 20
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const size_t n = (size_t)atol(argv[1]) / sizeof(long);
	long *memory = malloc(n * sizeof(*memory)), sum = 0;
	for (size_t i = 0; i < n; i++)
		memory[i] = (long)(i % 1000);
	puts("there");
	fflush(stdout);
	while (access("gate", F_OK))
		usleep(1000);
	for (size_t i = 0; i < n; i++)
		sum += memory[i];
	printf("%ld\\n", sum);
	return 0;
}
"""


@pytest.mark.parametrize("before", [(), OLDER], ids=["told", "compared"])
def test_the_second_holds_only_what_has_changed(
    before: tuple[str, ...], tmp_path: Path, build_text: BuildText
) -> None:
    """A kernel before 6.7 does not tell what was written to: pages are compared with raw ones."""
    program = str(build_text("memory", PROGRAM))
    job = Running(tmp_path / "home", tmp_path, "job", "--", program, str(MEMORY), before=before)
    job.until("there")
    for _ in range(2):
        taken = job.rdb("checkpoint", "job", "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(job.process, DEADLINE_S)
    assert job.process.returncode == 0, told
    rank = tmp_path / "home" / "job" / "rank-0"
    first, second = (read_image(rank / f"ckpt-00000{number}.img") for number in (1, 2))
    assert sum(run.length for run in first.own) > MEMORY
    assert sum(run.length for run in second.own) < MEMORY / 4
    stored = sum(run.stored for run in first.own)
    assert stored < MEMORY / 2 if not before else stored > MEMORY
    again = job.rdb("restart", "job", "--at", "ckpt:2")
    assert again.returncode == 0 and again.stdout == said, again.stderr
