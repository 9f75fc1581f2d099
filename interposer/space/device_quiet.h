/* Regions of device_memory.c, for those who look at them without vector registers. */
#ifndef RDB_DEVICE_QUIET_H
#define RDB_DEVICE_QUIET_H
#include <stdbool.h>
#include <stdint.h>

enum {
	DEVICE_REGIONS = 8192,
	DEVICE_LINE = 64,              /* bytes that are logged together */
	DEVICE_SMALL_REMOTE = 1 << 20, /* so much of what others write when they like is compared at every event */
};

/* Whole pages, in order, none twice. */
struct device_region {
	uint64_t start, end;
	char *shadow;
	unsigned users, remote_users; /* registrations that cover it */
};

extern struct device_table {
	struct device_region r[DEVICE_REGIONS];
	uint64_t bytes, remote_bytes;
	uint64_t settled_at; /* the event at which all were looked at last */
	bool cautioned, too_much;
	bool forks_break, said_forks;
	bool wanted; /* all of it at the next event: a hash or an image is due */
} device_table;

/* The first line from `from` on, where one begins, that the shadow has otherwise; not below `end`: none. */
uint64_t device_differs(const struct device_region *r, uint64_t from, uint64_t end);
/* At an event that tells the program of nothing: is there nothing that has to be logged with it? */
bool device_memory_quiet(void);

#endif
