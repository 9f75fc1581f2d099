/* The cut: where a restart becomes the program again, or says why it cannot. */
#pragma once
#include "crossing/event.h"

/* True: the program is at the cut. */
static inline bool live_due(void)
{
	return restarting() && lower.event >= lower.opt.at;
}

/* The recording's time at which this process is cut; 0 until then. */
extern uint64_t live_cut_ns;

/* Reports why the program cannot be brought back, and ends the process: nothing of it has gone live. */
void live_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* True: it is one of several processes (restart/tree/tree.h).  tree_process(): its number. */
static inline bool tree(void)
{
	return lower.opt.tree != NULL;
}
unsigned tree_process(void);
/* This process cannot be brought back: then none can. */
void tree_refused(void);
bool tree_is_refused(void);
