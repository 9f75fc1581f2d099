/* Sockets between processes of a tree (tree.h).  At the cut each process writes down which ends it has.  The first
 * process makes all connections again, with what had been written and not read (restart/sockets/socket_streams.h), and
 * passes the ends to the processes that hold them. */
#pragma once
#include <stdbool.h>

/* tree_sockets_tell(): at the cut, or where the process has ended.  tree_sockets_make(): when all have told. */
void tree_sockets_tell(bool ended);
void tree_sockets_make(void);
