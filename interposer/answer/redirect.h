/* Paths that mean something else below rdb: the program's own file, and the libraries that we stand in for. */
#ifndef RDB_REDIRECT_H
#define RDB_REDIRECT_H
#include <stdbool.h>
#include <stddef.h>

/* The path is /proc/self/exe, which is that of rdb-exec. */
bool redirect_self(const char *path);
/* What readlink(2) of it answers. */
long redirect_readlink(char *buf, size_t size);

/* The path that is opened instead of this one, or itself: of a library in front of the gate it is our stub (GDB finds
 * it by the recorded path). */
const char *redirected(const char *path);

#endif
