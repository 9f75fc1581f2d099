/* Answers of calls that wait while other threads run: the kernel writes them into lower memory, and they
 * appear in the program's when the call's own event is made.  Otherwise others would see (and hashes hold)
 * what in the log comes later. */
#ifndef RDB_BOUNCE_H
#define RDB_BOUNCE_H
#include <stddef.h>
#include <stdint.h>

enum { BOUNCE_PARTS = 5, BOUNCE_SMALL = 1024 };

struct bounce {
	unsigned n;
	struct {
		unsigned arg;
		uint64_t upper;
		size_t off, len;
	} part[BOUNCE_PARTS];
	size_t total;  /* of one copy */
	size_t mapped; /* 0: small[] is large enough */
	char *before, *now;
	char small[2 * BOUNCE_SMALL];
};

/* `own` becomes the arguments to call with.  With the baton. */
void bounce_in(struct bounce *b, long nr, const uint64_t args[6], uint64_t own[6]);
/* With the baton again: they appear, or are dropped. */
void bounce_out(struct bounce *b);
void bounce_drop(struct bounce *b);

#endif
