/* Which connections the ranks of one host have, as long as they are held: each rank writes down its ends, and the rank
 * that decides checks that each end has its other one. */
#pragma once
#include <stdint.h>

/* Writes down this rank's ends, before it is held.  0 or -errno. */
int socket_ends_publish(uint64_t generation);
/* Checks the ends of all ranks.  NULL, or which one is connected with a process that is not of the job. */
const char *socket_ends_unmatched(uint64_t generation);
/* Removes this rank's file, when the checkpoint is decided. */
void socket_ends_drop(void);
