/* Decides which pages an image keeps, and where their data is. */
#pragma once
#include "image/image.h"

/* Fills both tables (struct image_region, struct image_run).  Makes unreadable memory with contents readable;
 * image_pages_protect() undoes that. 0 or -errno. */
int image_pages(const struct image_plan *plan, struct table *regions, struct table *runs, uint32_t *base);
void image_pages_protect(const struct table *regions);
/* The contents of the page after a restore: for memory that others may write, those in the log. */
const void *image_content(uint64_t at);
