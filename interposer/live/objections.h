/* Why this rank cannot be in a checkpoint without a log. */
#ifndef RDB_OBJECTIONS_H
#define RDB_OBJECTIONS_H

/* NULL: nothing is against it. */
const char *objections(void);

#endif
