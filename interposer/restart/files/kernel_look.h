/* What kernel_files_look() has found; kernel_files_save() keeps it. */
#pragma once
#include <sys/stat.h>
#include "restart/base/open_table.h"
#include "restart/files/file_locks.h"
#include "restart/files/open_files_saved.h"

enum { LOCKS_MOST = 1024 };

extern struct kernel_look {
	struct opened opened[OPENED];
	unsigned nopened, nwatched, npipes;
	struct saved_number number[NUMBERS];
	unsigned nnumbers;
	struct saved_watch watched[WATCHED];
	int pipe_fd[OPENED]; /* a read end of each */
	ino_t pipe_ino[OPENED];
	int fd[OPENED]; /* one descriptor of each open file */
	struct stat file[OPENED];
	struct saved_lock locks[LOCKS_MOST];
	unsigned nlocks;
} kernel_look;

/* Why there can be no checkpoint; valid until the next call. */
__attribute__((format(printf, 1, 2))) const char *kernel_files_cannot(const char *fmt, ...);
