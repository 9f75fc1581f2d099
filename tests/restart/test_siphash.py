"""The MAC of those who meet again, and of the software HCA's frames (interposer/base/siphash.h)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deadlines

REPOSITORY = Path(__file__).parents[2]

# The last line is that of the paper's appendix A; the others are compared with another's.
PROGRAM = """
#include <sodium.h>
#include <stdio.h>
#include "base/siphash.h"

int main(void)
{
	uint8_t key[SIPHASH_KEY], data[300];
	if (sodium_init() < 0)
		return 2;
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	memcpy(key, data, sizeof(key));
	for (unsigned len = 0; len <= sizeof(data); len++)
		for (unsigned cut = 0; cut <= len; cut++) {
			uint64_t theirs, ours;
			struct siphash h;
			siphash_begin(&h, key);
			siphash_add(&h, data, cut / 2);
			siphash_add(&h, data + cut / 2, cut - cut / 2);
			siphash_add(&h, data + cut, len - cut);
			ours = siphash_end(&h);
			crypto_shorthash((uint8_t *)&theirs, data, len, key);
			if (ours != theirs) {
				fprintf(stderr, "%u bytes, cut at %u\\n", len, cut);
				return 1;
			}
		}
	struct siphash h;
	siphash_begin(&h, key);
	siphash_add(&h, data, 15);
	printf("%016lx\\n", siphash_end(&h));
	return 0;
}
"""


def test_it_is_siphash_2_4(build_text: Callable[..., Path]) -> None:
    """Of all lengths, in pieces; and the one value that its inventors printed."""
    flags = ("-std=gnu17", f"-I{REPOSITORY / 'interposer'}", "-lsodium")
    program = build_text("siphash", PROGRAM, *flags)
    done = deadlines.native([program], check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a129ca6149be45e5\n"
