/* Things that a restarted program knows by other names than the kernel: paths, timers, segments.  A higher layer keeps
 * them; main() sets the table. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LONGEST = 4096 }; /* of a path */

struct other_names {
	/* Replaces the paths of a call by those of the branch's own files; `room` holds them.  True: the call has been
	 * answered. */
	bool (*paths)(uint64_t nr, uint64_t args[6], char (*room)[LONGEST]);
	/* getdents64 of a directory with such files.  False: it has none. */
	bool (*lists)(int fd, char *entries, size_t room, long *result);
	/* The absolute path; the path of the branch's own file instead of it.  False: there is none. */
	bool (*whole)(int dirfd, const char *path, char *out, bool follow);
	bool (*own_place)(const char *full, char *out);
	/* Replaces numbers of files in what stat(2) has answered. */
	void (*stat)(uint64_t nr, const uint64_t args[6], int64_t result);
	/* Replaces the place of such a file, LONGEST bytes, by the path that the program knows. */
	void (*known_as)(char *place);
	/* Writes what the next program of this process needs into its directory: 0 or -errno. */
	int (*hand_on)(const char *dir);
	long (*timer_create)(uint64_t clock, uint64_t how, uint64_t id);
	uint64_t (*segment)(uint64_t known);
	/* Bytes were stored in shared memory, which held `was` before. */
	void (*applied)(uint64_t addr, const void *was, const void *bytes, size_t len);
};

extern const struct other_names *other_names;
