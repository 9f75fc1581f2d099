/* Cautions for memory that processes have which do not take turns with this one. */
#pragma once
#include "space/shared_regions.h"

/* Says who may store in the region, or has the next look find out. */
void region_caution(struct region *r);
/* Processes of other ranks have the region at START, as a library says that has made it with them. */
void shared_has_outsiders(uint64_t start);
/* Looks at once: a library that only reads an entry of another process unmaps it before the next look. */
void outsiders_before_unmap(struct region *r);
void outsiders_at_event(void);
void outsiders_in_child(void);
/* Call before the program ends. */
void shared_look_for_outsiders(void);
