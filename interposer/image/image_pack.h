/* Compressed runs of images: lz4's block format, each run on its own. */
#pragma once
#include "image/image.h"

/* Reads a compressed run's data and unpacks it to `to`.  0 or -errno (said). */
int image_unpack(const struct image_file *f, const struct image_run *run, void *to);
