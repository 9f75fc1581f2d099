/* Files that are as this process has left them, or that it has open: its replay writes again all that it wrote to
 * them. */
#pragma once
#include <sys/stat.h>
#include "answer/kept_files.h"

bool kept_is_left(const struct stat *st);
/* Was it opened to append to existing contents? */
bool kept_appends(int fd);
void kept_left_before(const struct event *ev);
void kept_left_after(const struct event *ev, const struct kept *k);
