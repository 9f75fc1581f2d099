/* Regions of device_memory.c, for code that must not use vector registers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
	DEVICE_REGIONS = 8192,
	DEVICE_LINE = 64,              /* bytes that are logged together */
	DEVICE_SMALL_REMOTE = 1 << 20, /* up to this size, memory that others write at any time is compared at every
				        * event */
};

/* Whole pages, in order, without overlaps. */
struct device_region {
	uint64_t start, end;
	char *shadow;
	unsigned users, remote_users; /* registrations that cover it */
};

extern struct device_table {
	struct device_region r[DEVICE_REGIONS];
	uint64_t bytes, remote_bytes;
	uint64_t settled_at; /* the last event at which all were compared */
	bool cautioned, too_much;
	bool forks_break, said_forks;
	bool wanted; /* compare all at the next event: a hash or an image is due */
} device_table;

/* The first line in [from, end) that differs from the shadow; `from` is the start of a line.  A result not below `end`:
 * none. */
uint64_t device_differs(const struct device_region *r, uint64_t from, uint64_t end);
/* For an event that reports nothing to the program: is there nothing to log with it? */
bool device_memory_quiet(void);
