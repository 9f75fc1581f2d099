/* Files and directories of the branch's own, while the process lives: by the path that the program knows. */
#ifndef RDB_OWN_TABLE_H
#define RDB_OWN_TABLE_H
#include <stdbool.h>
#include <stdint.h>

#include "answer/other_names.h"

struct own {
	const char *target;       /* where all ranks are to find it; or NULL */
	const char *path, *place; /* there need be nothing: the program has renamed or deleted it; no path: none */
	uint32_t hash;            /* of the path */
	bool whole;               /* all that is in it is known */
	bool left;                /* closed by the cut: what the program left */
	bool given, put;          /* by the plan one of another rank's, which has put it there (given_files.h) */
};

extern struct own_table {
	struct own *file;
	unsigned n;
} own_table;

struct own *own_find(const char *path);
/* Does not return if there is no memory for it. */
struct own *own_new(const char *path, const char *place, bool whole, bool left);
void own_name(struct own *o, const char *path);
/* It is to go there, at the cut; and it is there by now. */
void own_target(struct own *o, const char *place);
void own_moved(struct own *o);
/* Not one of the branch's own any more; what is there stays. */
void own_leave(struct own *o);
void own_drop(struct own *o);
/* Of another program of the process, in its directory: the paths that this one has.  0 or -errno. */
int own_hand_on(const char *dir);
void own_handed_on(const char *dir);

#endif
