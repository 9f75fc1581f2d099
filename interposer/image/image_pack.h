/* Compressed runs of images: lz4's block format, each run on its own. */
#pragma once
#include "image/image.h"

/* Compresses a run's data into room of IMAGE_RUN_MAX bytes.  The length then; 0: it would save less than a quarter. */
uint32_t image_packed(const void *data, uint64_t len, void *room);
/* Reads a compressed run's data and unpacks it to `to`.  0 or -errno (said). */
int image_unpack(const struct image_file *f, const struct image_run *run, void *to);
