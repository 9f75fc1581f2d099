/* The program's sockets as the kernel knows them: nothing is followed while it runs without a log.  Connections are
 * named by their addresses or, of Unix sockets, by the inodes of both ends (sock_diag(7)). */
#ifndef RDB_KERNEL_SOCKETS_H
#define RDB_KERNEL_SOCKETS_H
#include <stdbool.h>
#include "base/table.h"
#include "restart/open_table.h"

/* Forgets those of an earlier look. */
void kernel_sockets_begin(void);
/* One open file of that kind, by its descriptor.  NULL, or why it could not be made again. */
const char *kernel_sockets_look(int fd, struct opened *f);
/* When all have been looked at. */
const char *kernel_sockets_looked(void);
unsigned kernel_sockets_count(void);
/* Has any of them a connection with another process? */
bool kernel_sockets_connected(void);
/* Bytes that it has written are not with their reader yet. */
bool kernel_sockets_unsent(void);
/* While all ranks stand still: what they are, and what has come in them and was not read; that stays there. */
const char *kernel_sockets_save(struct table *out);
/* At a restart, for sockets_restore(). */
void kernel_sockets_load(int fd);

#endif
