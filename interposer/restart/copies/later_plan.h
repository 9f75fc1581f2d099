/* Files that the recorded job wrote to only later, by the plan of the branch, which knows all processes
 * (rdb/live/files/later_files.py). */
#pragma once
#include <stdbool.h>

/* The plan's lines: PLACE, a tab, the path that it is for.  later_line() takes the next; both buffers have room for
 * LONGEST.  False: there is no more. */
const char *later_lines(void);
bool later_line(const char **line, char *place, char *full);
/* Where the content is that a file had before it was appended to. */
void later_before(const char *path, char *out);
