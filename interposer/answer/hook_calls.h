/* What a program asks of rdb about its checkpoints (include/rdb.h). */
#pragma once
#include "crossing/event.h"

/* prctl(2) with RDB_PRCTL_HOOKS. */
long hook_answered(struct event *ev);
/* After its answer, in every mode. */
void hook_done(const struct event *ev);
/* Gives back the memory that a checkpoint need not keep, in the process that writes it; in a restart, makes it zero. */
void excluded_drop(void);
void excluded_zero(void);
/* It is memory of something else now. */
void excluded_unmapped(uint64_t start, uint64_t end);
