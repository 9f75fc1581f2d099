/* The program's descriptors as the kernel knows them (own_numbers.h says which are the program's). */
#pragma once
#include "crossing/event.h"
#include "base/table.h"

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
