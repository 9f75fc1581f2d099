/* Files of /proc that tell of the state of the program (proc(5)), with what it knows in place of what is rdb's. */
#pragma once
#include "task/thread.h"

/* Which thread a file is about. */
struct status_of {
	const struct thread *thread; /* NULL: the first one, which has ended while others run */
	int carrier;
};

/* `tid` as of own_proc_file().  False: there is no such thread. */
bool proc_status_of(int tid, struct status_of *of);
/* Each writes a file. 0 or -errno. */
int proc_status_put(int fd, const struct status_of *of);    /* status */
int proc_status_stat(int fd, const struct status_of *of);   /* stat */
int proc_status_memory(int fd, const struct status_of *of); /* statm */
/* limits, of any process: `text` is what the kernel shows.  Only where the program knows other values is there one to write. */
bool proc_status_limits_differ(const char *text);
void proc_status_limits(int fd, const char *text);

/* Writes to a file in memory. */
void proc_put(int fd, const char *text, size_t len);
