/* The program's descriptors as the kernel knows them: nothing is followed while it runs, but which numbers are its own
 * and not a library's below. */
#ifndef RDB_KERNEL_FILES_H
#define RDB_KERNEL_FILES_H
#include "crossing/event.h"
#include "base/table.h"

/* Before the program runs: what it has inherited. */
void kernel_files_begin(void);
/* Before a system call of the program: the numbers that it closes may be given to another thread at once. */
void kernel_files_closing(const struct event *ev);
/* One that succeeded. */
void kernel_files_syscall(const struct event *ev);
/* Looks at all of them.  NULL, or what it is that could not be made again. */
const char *kernel_files_look(void);
/* What was found, for open_files_from(); files that are written to are copied.  NULL, or why not. */
const char *kernel_files_save(struct table *out, unsigned number);

#endif
