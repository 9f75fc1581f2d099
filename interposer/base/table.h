/* A growable table in lower memory, without malloc (we may be in a signal handler). */
#pragma once
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

struct table {
	uint8_t *base;
	size_t len, cap;
};

/* 0 or -errno. */
static inline int table_add(struct table *t, const void *data, size_t n)
{
	if (t->len + n > t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 65536;
		while (cap < t->len + n)
			cap *= 2;
		void *p = t->base ? mremap(t->base, t->cap, cap, MREMAP_MAYMOVE)
				  : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		t->base = p;
		t->cap = cap;
	}
	memcpy(t->base + t->len, data, n);
	t->len += n;
	return 0;
}

static inline void table_drop(struct table *t)
{
	if (t->base)
		munmap(t->base, t->cap);
	*t = (struct table){0};
}
