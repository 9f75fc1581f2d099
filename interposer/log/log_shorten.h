/* Appending an event as a short record (log_format.h), or as one more of the same. */
#pragma once
#include "log/parts.h"

/* `size`: of the record.  1: done; 0: it has to be written whole; or -errno as log_append(). */
int log_shorten(const struct event *ev, uint64_t number, size_t size);
/* The record at `at` of the segment was written whole: later ones may be like it. */
void log_model(size_t at);
