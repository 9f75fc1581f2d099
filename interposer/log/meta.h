/* What a log says about its process: LOG_META and LOG_FILE records. */
#pragma once
#include "base/lower.h"

/* META for the present process running `path`.  No malloc: it is also called right after fork. */
void meta_log(const char *path);
/* A file that the process has mapped: `key` is its name in the store, `path` the name by which it was opened. */
void meta_log_file(const char *key, const char *path);
/* All of them again, in the log of a child. */
void meta_log_files(void);

/* What META of that recording has behind `key`, up to the end of META or of `out`.  False: it has no such key. */
bool meta_find(const char *dir, const char *key, char *out, size_t room);

/* Calls fn for the text of META and those of all files, until one does not return 0. */
int meta_each(int (*fn)(uint32_t kind, const char *text, size_t len, void *arg), void *arg);
