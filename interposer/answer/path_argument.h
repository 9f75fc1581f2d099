/* System calls with one path. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct path_argument {
	int at;       /* the number of the argument */
	int dir;      /* that of the descriptor of the folder in which the path begins; -1: there is none */
	bool follows; /* the call means what a link leads to, not the link */
};

/* False: the call has no path (or is given none), or two. */
bool path_argument(uint64_t nr, const uint64_t args[6], struct path_argument *p);
