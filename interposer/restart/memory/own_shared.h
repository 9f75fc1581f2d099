/* Memory that a program has mapped shared and that no other process has: anonymous, a memfd, or a file without a name
 * whose descriptor is closed.  A checkpoint without a log copies it while the rank stands still, since the child that
 * writes the image later has the same pages.  A restart makes it again, shared, so that children and second mappings
 * see it. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>
#include "base/table.h"

/* Why a checkpoint cannot keep all that is mapped shared; NULL: it can. */
const char *own_shared_refuses(void);
/* 0 or -errno. */
int own_shared_look(struct table *out);
/* In a restart, in place of what the image has there.  0 or -errno. */
int own_shared_from(const uint8_t *bytes, size_t len);

/* Is that file among the memory that own_shared_refuses() has found? */
bool own_shared_has(const struct stat *st);
