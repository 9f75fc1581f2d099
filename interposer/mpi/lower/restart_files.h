/* Between restart_files.c, which does again what the program did to files of MPI, and restart_files_order.c, which knows
 * from the plan what of it, and in which order of all ranks (rdb/live/files/file_order.py). */
#ifndef RDB_MPI_RESTART_FILES_H
#define RDB_MPI_RESTART_FILES_H
#include <stdio.h>
#include "files.h"
#include "restart.h"
#include "together_bytes.h"

/* What is to be in the file when it is opened, if this rank sees to that. */
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

/* The step that is this event, or NULL: nothing is done again. */
const struct file_step *file_step_now(void);
/* Waits for the steps before it, in whichever rank; lets the next one begin. */
void file_step_begin(const struct file_step *step);
void file_step_end(const struct file_step *step);
/* After MPI_Init, in all ranks; NULL, or why not. */
const char *file_steps_load(void);
/* In all ranks, at the cut: all steps of all ranks are over. */
const char *file_steps_over(bool *any);

/* restart_files_begun.c: in all ranks; for restarts of the branch, and in one. */
const char *restart_files_save(const char *folder);
const char *restart_files_load(const char *folder);
/* One that is open, in all ranks that have it so; `words` for the plan, or NULL.  And opened again, by its number. */
bool restart_file_put(struct bytes *out, struct vfile *file, FILE *words);
const char *restart_file_get(struct bytes *in, uint32_t id);

#endif
