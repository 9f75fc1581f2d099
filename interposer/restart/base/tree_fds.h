/* Descriptors of open files that a process of a tree shares with others, kept ready through exec and fork. */
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include "restart/base/open_table.h"

/* TREE_MODES: flags that fcntl(2) sets are those of all. */
enum { TREE_FDS = 256, TREE_BORN = 128, TREE_MODES = O_NONBLOCK | O_APPEND | O_DIRECT };

/* Passed on to the program that takes this one's place, and to children. */
extern struct tree_fds {
	uint32_t n, nborn;
	int32_t fd[TREE_FDS];
	/* what the processes of a restarted branch shared when it began (tree_born.h) */
	struct {
		uint32_t number;
		int32_t fd[3]; /* both ends, and the copy */
	} born[TREE_BORN];
} tree_fds;

/* Keeps a descriptor.  Returns its new number. */
int tree_fds_ready(int fd);
/* Opens another description of a pipe's end, as by its number (/dev/fd). */
int tree_fds_pipe(const struct opened *f, int pipe);
/* Keeps them open over execve(2). */
void tree_fds_keep(void);
/* What a branch began with: adds both ends and the copy; finds them; sets them in an open file of this process. */
void tree_fds_born(uint32_t number, const int fd[2], int copy);
const int32_t *tree_fds_of(uint32_t number);
void tree_fds_found(struct opened *f);
