/* Has another process memory that this one has mapped shared, or could it map it? */
#ifndef RDB_SOLE_OWNER_H
#define RDB_SOLE_OWNER_H
#include <stdbool.h>
#include <stdint.h>

/* `is`: is this object, as arena_each() names it, one of those?  They have no names, and their descriptors were not passed
 * on by messages.  True: nobody else has one, or can map it. */
bool sole_owner(bool (*is)(uint64_t dev, uint64_t ino));

#endif
