/* Which pages an image keeps, and where their data is to be found. */
#ifndef RDB_IMAGE_PAGES_H
#define RDB_IMAGE_PAGES_H
#include "image/image.h"

/* Fills both tables (struct image_region, struct image_run).  Memory of the program that cannot be read but
 * holds something is made readable: image_pages_protect() puts that back.  0 or -errno. */
int image_pages(const struct image_plan *plan, struct table *regions, struct table *runs, uint32_t *base);
void image_pages_protect(const struct table *regions);
/* What the page there is to hold after a restore: of memory that others may write, what the log says. */
const void *image_content(uint64_t at);

#endif
