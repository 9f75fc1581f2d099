/* Has another process memory that this one has mapped shared, or could it map it? */
#ifndef RDB_SOLE_OWNER_H
#define RDB_SOLE_OWNER_H
#include <stdbool.h>
#include <stdint.h>

/* `is`: is this object, as arena_each() names it, one of those?  They have no names, and this process has not passed on a
 * descriptor of them by a message.  True: nobody else has one, or can map it. */
bool sole_owner(bool (*is)(uint64_t dev, uint64_t ino));
/* This process has passed on such a descriptor: it may be on its way in a socket, where nobody sees it.  None of the rank's
 * processes, which may have mapped the same, is a sole owner from here on. */
void sole_owner_passed(void);

#endif
