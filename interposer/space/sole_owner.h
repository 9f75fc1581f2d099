/* Does another process have memory that this process has mapped shared, or could it map it? */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* `is`: is this object (numbers as in arena_each()) one of those in question?  They have no names, and this process has
 * not sent a descriptor of them in a message.  True: no other process has one, or can map it. */
bool sole_owner(bool (*is)(uint64_t dev, uint64_t ino));
/* Do only processes of this user have such objects mapped that take turns with this one (floors.h)? */
bool sole_owners_by_turns(bool (*is)(uint64_t dev, uint64_t ino));
/* Does no other process of this user have such objects mapped? */
bool sole_mapper(bool (*is)(uint64_t dev, uint64_t ino));
/* This process has sent such a descriptor: it may be in a socket, where it cannot be seen.  From here on no process of
 * the rank is a sole owner, since all may have mapped the same. */
void sole_owner_passed(void);
