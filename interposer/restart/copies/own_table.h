/* Files and directories of the branch's own, while the process lives, by the path that the program knows. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "answer/other_names.h"

struct own {
	const char *target;       /* where all ranks are to find the file, or NULL */
	const char *path, *place; /* `place` need not exist: renamed or deleted; path NULL: unused */
	uint32_t hash;            /* of the path */
	bool whole;               /* its whole content is known */
	bool left;                /* closed by the cut: what the program left */
	bool given, put;          /* another rank's by the plan; put there by it (given_files.h) */
};

extern struct own_table {
	struct own *file;
	unsigned n;
} own_table;

struct own *own_find(const char *path);
/* Does not return if there is no memory for it. */
struct own *own_new(const char *path, const char *place, bool whole, bool left);
void own_name(struct own *o, const char *path);
/* At the cut the file is to go to PLACE; own_moved(): it is there now. */
void own_target(struct own *o, const char *place);
void own_moved(struct own *o);
/* The file is not the branch's own any more; own_leave() leaves what is there, own_drop() deletes it. */
void own_leave(struct own *o);
void own_drop(struct own *o);
/* Writes it to a file: 0 or -errno. */
int own_list(const char *path);
/* Passes the table on to the next program of the process, through its directory.  0 or -errno. */
int own_hand_on(const char *dir);
void own_handed_on(const char *dir);
