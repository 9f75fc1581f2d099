/* Format in which a program's descriptors are written down, for restarts: by a replay that went live (was_open.c), or
 * as the kernel knew them (kernel_files.c). */
#pragma once
#include "restart/base/open_table.h"

/* The file: the head, then as many of the others as it says. */
#define SAVED_MAGIC 0x34736c6966626472ull

struct saved {
	uint64_t magic;
	uint32_t nopened, nnumbers, nwatched, npipes;
	uint32_t mask, size; /* umask(2); sizeof(struct opened) */
	uint32_t nlocks, reserved;
	char cwd[4096];
};
struct saved_number {
	uint32_t fd, opened, cloexec;
};
struct saved_watch {
	uint32_t set, file; /* file UINT32_MAX: what the descriptor now is */
	int32_t fd;
	struct epoll_event event;
};
