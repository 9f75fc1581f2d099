/* proc(5), /proc/pid/maps: address perms offset dev inode pathname */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end;
	int prot; /* PROT_* */
	bool shared;
	bool anonymous;
	uint64_t offset;
	uint64_t dev, inode;
};

enum { MAPS_END = INT_MIN };

struct mapping maps_parse(const char *line);
/* Calls fn for each line of an open file, which is one of /proc/pid/maps.  Stops at the first nonzero return and returns
 * it, 0 for MAPS_END; -errno if the file cannot be read. */
int maps_lines(int fd, int (*fn)(const char *line, void *arg), void *arg);
