/* Quantities of options: --checkpoint-every, --keep. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum limit_unit { LIMIT_NONE, LIMIT_COUNT, LIMIT_BYTES, LIMIT_SECONDS };

struct limit {
	enum limit_unit unit;
	uint64_t value; /* bytes, nanoseconds or a count */
	const char *text;
};

/* Parses `N`, `NKB`, `NMB`, `NGB` or `Ns`; N may be followed by `word`. False: the text is none of these. */
bool limit_parse(const char *text, const char *word, struct limit *out);
