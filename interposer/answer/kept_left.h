/* Which files are as this process has left them, or has them open: all that it wrote to them its replay writes again. */
#ifndef RDB_KEPT_LEFT_H
#define RDB_KEPT_LEFT_H
#include <sys/stat.h>
#include "answer/kept_files.h"

bool kept_is_left(const struct stat *st);
/* It was opened to append to what was in it. */
bool kept_appends(int fd);
void kept_left_before(const struct event *ev);
void kept_left_after(const struct event *ev, const struct kept *k);

#endif
