/* Files in a branch's directory that keep what it began with, for restarts of itself. */
#ifndef RDB_BRANCH_FILE_H
#define RDB_BRANCH_FILE_H
#include <stddef.h>
#include <stdio.h>

/* Of the recording that is restarted, whole things of `one` byte each: how many bytes.  0: there is no such file. */
size_t branch_file_load(const char *name, void *into, size_t room, size_t one);
/* Of the branch to be. */
void branch_file_save(const char *name, const void *bytes, size_t len);
/* The same, piece by piece. */
FILE *branch_file_begin(const char *name);
void branch_file_end(FILE *f, const char *name);

#endif
