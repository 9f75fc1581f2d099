/* Compressed runs of images: lz4's block format, each run on its own. */
#pragma once
#include "image/image.h"

/* Writes a run's data behind *off, and moves that on: compressed if there is room for it (IMAGE_RUN_MAX bytes) and that
 * saves a quarter, else raw at a page boundary, where it can be mapped.  0 or -errno. */
int image_write_run(int fd, struct image_run *run, const void *data, uint64_t *off, void *room);
/* Reads a compressed run's data and unpacks it to `to`.  0 or -errno (said). */
int image_unpack(const struct image_file *f, const struct image_run *run, void *to);
