/* What a program that was restarted knows by other names than the kernel: paths, timers, segments.  Who keeps these is above;
 * main() says who it is. */
#ifndef RDB_OTHER_NAMES_H
#define RDB_OTHER_NAMES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LONGEST = 4096 }; /* path */

struct other_names {
	/* The paths of a call become those of the branch's own files; `room` holds them.  True: the call is answered. */
	bool (*paths)(uint64_t nr, uint64_t args[6], char (*room)[LONGEST]);
	/* getdents64 of a directory that has such files.  False: it has none. */
	bool (*lists)(int fd, char *entries, size_t room, long *result);
	/* The whole path; where the branch has the file of that path instead.  False: there is none. */
	bool (*whole)(int dirfd, const char *path, char *out, bool follow);
	bool (*own_place)(const char *full, char *out);
	/* What the next program of this process needs of it, into its directory: 0 or -errno. */
	int (*hand_on)(const char *dir);
	long (*timer_create)(uint64_t clock, uint64_t how, uint64_t id);
	uint64_t (*segment)(uint64_t known);
	/* Bytes were applied to memory that is shared: it had others before. */
	void (*applied)(uint64_t addr, const void *was, const void *bytes, size_t len);
};

extern const struct other_names *other_names;

#endif
