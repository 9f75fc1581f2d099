#include "live/own_table.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct own_table own_table;

struct own *own_find(const char *path)
{
	for (struct own *o = own_table.file; *path && o < own_table.file + own_table.n; o++)
		if (!strcmp(o->path, path))
			return o;
	return NULL;
}

struct own *own_new(const char *path, const char *place, bool whole, bool left)
{
	struct own *o = own_table.file;
	while (o < own_table.file + own_table.n && *o->path)
		o++;
	if (o == own_table.file + OWN)
		return NULL;
	own_table.n += o == own_table.file + own_table.n;
	o->whole = whole;
	o->left = left;
	snprintf(o->path, sizeof(o->path), "%s", path);
	snprintf(o->place, sizeof(o->place), "%s", place);
	return o;
}

void own_drop(struct own *o)
{
	unlink(o->place);
	*o->path = 0;
}
