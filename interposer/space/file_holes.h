/* Holes of mapped files.  To read them would take long, and fill the page cache. */
#pragma once
#include "space/shared_regions.h"

/* From `off` on: where the region's file may have data; the region's size: nowhere.  fd: open on the file; -1: one of the
 * program's is looked for. */
uint64_t region_data_from(const struct region *r, int fd, uint64_t off);
