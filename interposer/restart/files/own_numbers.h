/* Which descriptor numbers are the program's own, and not a library's below: followed while the program runs. */
#pragma once
#include <sys/stat.h>
#include "crossing/event.h"

enum own_number {
	NOT_OWN,
	OWN,
	OWN_JOINED, /* a socket that has joined a multicast group, which the kernel does not tell */
};

/* Before the program runs: marks what it has inherited. */
void own_numbers_begin(void);
/* What the next program of the process has from the one before. */
bool own_numbers_hand_on(int fd);
bool own_numbers_inherit(int fd);
/* Before a system call of the program: the numbers that it closes may be given to another thread at once. */
void own_numbers_closing(const struct event *ev);
/* After a system call that succeeded. */
void own_numbers_syscall(const struct event *ev);

enum own_number own_number(int fd); /* fd: below NUMBERS (open_table.h) */
int64_t own_numbers_highest(void);
/* Which of 0 to 2, as the program has inherited them, it is; under another number only a pipe, socket or terminal (shells
 * keep them so while 1 is redirected).  -1: none. */
int own_number_standard(int fd, const struct stat *st);
