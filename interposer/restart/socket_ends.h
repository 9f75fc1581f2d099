/* Which connections the ranks of one host have, for as long as they are held: each writes down its ends, and who decides
 * that a checkpoint is taken looks whether each has its other one. */
#ifndef RDB_SOCKET_ENDS_H
#define RDB_SOCKET_ENDS_H
#include <stdint.h>

/* This rank's, before it is held.  0 or -errno. */
int socket_ends_publish(uint64_t generation);
/* Of all ranks.  NULL, or what is connected with a process that is not of the job. */
const char *socket_ends_unmatched(uint64_t generation);
/* When that is decided. */
void socket_ends_drop(void);

#endif
