/* Files of the branch's own, while the process lives: by the path that the program knows. */
#ifndef RDB_OWN_TABLE_H
#define RDB_OWN_TABLE_H
#include <stdbool.h>

enum { OWN = 1024, LONGEST = 4096 };

struct own {
	char path[LONGEST], place[LONGEST]; /* there need be nothing: the program has renamed or deleted it */
	bool whole;                         /* all that is in it is known */
	bool left;                          /* closed by the cut: what the program left */
};

extern struct own_table {
	struct own file[OWN]; /* no path: none */
	unsigned n;
} own_table;

struct own *own_find(const char *path);
/* NULL: there are too many. */
struct own *own_new(const char *path, const char *place, bool whole, bool left);
void own_drop(struct own *o);

#endif
