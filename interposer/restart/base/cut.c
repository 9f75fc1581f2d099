#include "restart/base/cut.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/pids.h"

uint64_t live_cut_ns;

void live_refuse(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tree_refused();
	if (tree() && strcmp(lower.opt.process, "0-0"))
		rdb_warn("%s cannot be restarted at event %lu: %s", lower.opt.restart, (unsigned long)lower.opt.at,
			 text);
	else
		rdb_warn("rank %d cannot be restarted at event %lu: %s", lower.opt.rank, (unsigned long)lower.opt.at,
			 text);
	_exit(125);
}

unsigned tree_process(void)
{
	return (unsigned)atoi(lower.opt.process);
}

void tree_refused(void)
{
	if (pids())
		__atomic_store_n(&pids()->refused, 1, __ATOMIC_SEQ_CST);
}

bool tree_is_refused(void)
{
	return __atomic_load_n(&pids()->refused, __ATOMIC_SEQ_CST);
}
