/* Answers of calls that wait while other threads run: the kernel writes them into lower memory, and they are copied to
 * the program's when the call's own event is made.  Otherwise other threads would see (and hashes hold) what comes
 * later in the log. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { STAGING_PARTS = 5, STAGING_SMALL = 1024 };

struct staging {
	unsigned n;
	struct {
		unsigned arg;
		uint64_t upper;
		size_t off, len;
	} part[STAGING_PARTS];
	size_t total;  /* of one copy */
	size_t mapped; /* 0: small[] is large enough */
	char *before, *now;
	char small[2 * STAGING_SMALL];
};

/* Copies the memory that the call may write; `own` becomes the arguments to call with.  Needs the baton. */
void staging_in(struct staging *b, long nr, const uint64_t args[6], uint64_t own[6]);
/* With the baton again: copies what has changed to the program, or drops it. */
void staging_out(struct staging *b);
void staging_drop(struct staging *b);
