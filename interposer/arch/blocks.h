/* Compares memory while the program's vector registers are live: it leaves them unchanged. */
#pragma once

enum { BLOCK = 128 };

/* The first block in [a, end) that differs from the block at the same offset from b; `end`: none; a: not supported
 * here. */
const char *blocks_differ(const char *a, const char *b, const char *end);
