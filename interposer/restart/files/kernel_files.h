/* The program's descriptors as the kernel knows them.  While the program runs only the numbers are followed: which are
 * its own, and not a library's below. */
#ifndef RDB_KERNEL_FILES_H
#define RDB_KERNEL_FILES_H
#include "crossing/event.h"
#include "base/table.h"

/* Before the program runs: marks what it has inherited. */
void kernel_files_begin(void);
/* Before a system call of the program: the numbers that it closes may be given to another thread at once. */
void kernel_files_closing(const struct event *ev);
/* After a system call that succeeded. */
void kernel_files_syscall(const struct event *ev);
/* Looks at all descriptors.  NULL, or which one could not be made again. */
const char *kernel_files_look(void);
/* Writes what was found to `out`, for open_files_from(), and copies files that are written to.  NULL, or why that
 * failed. */
const char *kernel_files_save(struct table *out, unsigned number);

/* Writes a line "NUMBER SIZE MODE PATH" for each file that is open for writing, the mode in octal: was-N-NUMBER has
 * what was in it.  0 or -errno. */
int kernel_files_list(const char *path);

/* Files without a name: NULL, or the next from I on. */
const struct stat *kernel_files_nameless(unsigned *i);

#endif
