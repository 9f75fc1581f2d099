/* Open files in which several processes of a tree move by one description, and timers that several set.  Streams have
 * what each process did; at the cut one process does it all again, in order. */
#pragma once
#include "restart/base/streams.h"

struct opened;

void tree_file_fill(const struct all_ops *all, struct opened *f);
void tree_timer_fill(const struct all_ops *all, struct opened *f);
