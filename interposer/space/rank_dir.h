/* The rank's own directory.  Its children and the programs that replaced others have directories below it. */
#pragma once
#include <stdio.h>
#include <string.h>
#include "base/lower.h"

static inline void rank_dir(char *path, size_t size)
{
	snprintf(path, size, "%s", lower.opt.dir);
	for (char *last; (last = strrchr(path, '/')) && (!strcmp(last, "/exec") || !strncmp(last, "/child-", 7));)
		*last = 0;
}

/* Is this a child of the rank's first process, or a program that has replaced another one? */
static inline bool rank_dir_below(void)
{
	char path[4096];
	rank_dir(path, sizeof(path));
	return strcmp(path, lower.opt.dir) != 0;
}
