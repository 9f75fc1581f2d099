/* Memory that a program has mapped shared and nobody else has: anonymous, a memfd or a file without a name, whose
 * descriptor is closed.  A checkpoint without a log keeps it while the rank stands still, since the child that writes the
 * image later has the same pages; a restart makes it again, shared, so that children and second mappings see it. */
#ifndef RDB_OWN_SHARED_H
#define RDB_OWN_SHARED_H
#include "base/table.h"

/* NULL: a checkpoint can have all that is mapped shared. */
const char *own_shared_refuses(void);
/* 0 or -errno. */
int own_shared_look(struct table *out);
/* In a restart, in place of what the image has there.  0 or -errno. */
int own_shared_from(const uint8_t *bytes, size_t len);

#endif
