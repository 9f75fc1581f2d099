/* A file of a recording, opened as one of our descriptors. */
#pragma once
#include "base/descriptors.h"
#include "base/private.h"

/* openat(2) with O_CREAT, made private. A descriptor or -errno. */
static inline int private_create(int dirfd, const char *path, int flags)
{
	return private_mode(descriptor_open(dirfd, path, flags | O_CREAT, 0600));
}
