/* How many bytes at a time are written to the log's files.
 *
 * The page cache takes a piece as one large page.  Which size is cheapest depends on the machine and changes while it
 * runs: larger ones cost less each, until the kernel has none at hand; and a virtual machine whose host takes back free
 * memory by large blocks pays a fault of the host's for each small page of one, which is ten times as much.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { PIECE_SMALLEST = 32 << 10, PIECE_LARGEST = 512 << 10 };

/* A write of some pieces, timed. */
struct pieces {
	size_t size; /* bytes */
	unsigned way;
	uint64_t begun_ns;
};

void pieces_begin(struct pieces *p, size_t bytes);
void pieces_end(const struct pieces *p, size_t bytes);
/* The next write that is large enough tries another size. */
void pieces_try(void);
