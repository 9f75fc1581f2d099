/* Arrays that are spread over the ranks of a job (include/rdb.h): their rows go from a checkpoint of one job to another
 * one, with another number of ranks. */
#pragma once
#include "crossing/event.h"

/* prctl(2) with RDB_HOOKS_DISTRIBUTE. */
long distribute_answered(const struct event *ev);
/* After its answer, in every mode. */
void distribute_done(const struct event *ev);
/* With RDB_HOOKS_REDISTRIBUTE. */
long redistribute_answered(struct event *ev);

/* Writes the rows that the program has distributed to files NAME-ROW below the folder: each at its place in the whole
 * array, a row has ROW bytes.  Says on stdout which rows these are, a part in a line.  0 or -errno (said). */
int distribution_write(const char *folder);
