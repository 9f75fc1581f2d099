/* Does another process have memory that this process has mapped shared, or could it map it? */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* `is`: is this object (numbers as in arena_each()) one of those in question?  They have no names, and this process has
 * not sent a descriptor of them in a message.  True: no other process has one, or can map it. */
bool sole_owner(bool (*is)(uint64_t dev, uint64_t ino));
/* Can no other process of this user write to such objects through a mapping?  By turns: but for those that take turns
 * with this one (floors.h). */
bool sole_writer(bool (*is)(uint64_t dev, uint64_t ino));
bool sole_writer_by_turns(bool (*is)(uint64_t dev, uint64_t ino));
/* Has another recorded process such a file open for writing, or mapped so that it can write there? */
bool other_writer(bool (*is)(uint64_t dev, uint64_t ino));
/* Does the process run the same program as this one, rdb-exec? */
bool is_recorded(uint32_t pid);
/* This process has sent such a descriptor: it may be in a socket, where it cannot be seen.  From here on no process of
 * the rank is a sole owner, since all may have mapped the same. */
void sole_owner_passed(void);
