/* Files that the program opens by the number of another descriptor: /dev/fd/N, /dev/stdin, /proc/self/fd/N. */
#pragma once
#include "crossing/event.h"
#include "restart/base/open_table.h"

/* The number that such a path names; -1: it is none. */
int fd_path(const char *path);
/* The file has been opened.  False: it cannot be made again in this way, or the path leads to another, *path. */
bool fd_path_opened(const struct event *ev, int number, unsigned flags, const char **path);
