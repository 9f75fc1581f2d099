/* restart_files.c makes the program's operations on MPI files again; restart_files_order.c knows from the plan which
 * ones, and in which order of all ranks (rdb/live/files/file_order.py). */
#pragma once
#include <stdio.h>
#include "lower/files/files.h"
#include "lower/restart/restart.h"
#include "lower/checkpoint/coordinated_state.h"

/* Contents that this rank gives the file before it is opened: unchanged, no file, a copy. */
enum file_base { BASE_STAYS = '-', BASE_ABSENT = 'a', BASE_COPY = 'c' };

struct file_step {
	uint64_t event;
	int node;
	int64_t position; /* of the shared file pointer; -1: not known */
	enum file_base base;
	char *source; /* BASE_COPY */
	int nwait, ngo, tell;
	int *wait, *go;
};

/* The step of the current event; NULL: it is not done again. */
const struct file_step *file_step_now(void);
/* Waits for the steps before it, in any rank; lets the next step begin. */
void file_step_begin(const struct file_step *step);
void file_step_end(const struct file_step *step);
/* After MPI_Init, in all ranks; NULL, or the reason of a failure. */
const char *file_steps_load(void);
/* At the cut, in all ranks: waits until all ranks have made all steps.  *any: there are MPI files. */
const char *file_steps_over(bool *any);

/* restart_files_begun.c: called in all ranks; save for restarts of the branch, load in such a restart. */
const char *restart_files_save(const char *folder);
const char *restart_files_load(const char *folder);
/* Saves how a file is open, in all ranks that have it open; `words`: text for the plan, or NULL.  Opens it again, under
 * its id. */
bool restart_file_put(struct bytes *out, struct vfile *file, FILE *words);
const char *restart_file_get(struct bytes *in, uint32_t id);
