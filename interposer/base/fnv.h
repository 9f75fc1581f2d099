/* The hash FNV-1a (draft-eastlake-fnv), for names. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN 0xcbf29ce484222325ull

static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t len)
{
	for (const unsigned char *at = bytes, *end = at + len; at < end; at++)
		hash = (hash ^ *at) * 0x100000001b3ull;
	return hash;
}
