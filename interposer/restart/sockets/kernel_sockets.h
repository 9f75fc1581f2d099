/* The program's sockets as the kernel knows them: without a log nothing is followed while it runs.  Connections are
 * named by their addresses or, for Unix sockets, by the inodes of both ends (sock_diag(7)). */
#pragma once
#include <stdbool.h>
#include "base/table.h"
#include "restart/base/open_table.h"

/* Forgets the sockets of an earlier look. */
void kernel_sockets_begin(void);
/* Looks at one socket, by its descriptor.  NULL, or why it could not be made again. */
const char *kernel_sockets_look(int fd, struct opened *f);
/* Call when all have been looked at.  NULL, or why one could not be made again. */
const char *kernel_sockets_looked(void);
unsigned kernel_sockets_count(void);
/* Does a socket have a connection with another process? */
bool kernel_sockets_connected(void);
/* True: bytes that it has written have not reached their reader yet. */
bool kernel_sockets_unsent(void);
/* While all ranks stand still: writes down the sockets, and what has come in them and was not read, which stays
 * there. */
const char *kernel_sockets_save(struct table *out);
/* At a restart, for sockets_restore(). */
void kernel_sockets_load(int fd);
