/* How much the program has mapped, as the kernel counts it without rdb (vm_stat_account() in mm/mmap.c). */
#pragma once
#include "space/arena.h"

/* In bytes. */
struct memory_use {
	uint64_t all;
	uint64_t data;   /* private, may be written, and not the stack */
	uint64_t stack;  /* as far as it is known to have grown */
	uint64_t inside; /* of all: in the range asked about */
};

/* 0 or -errno. */
long memory_use(struct memory_use *out, uint64_t from, uint64_t to);
/* A call comes from a place with this stack pointer: without rdb the stack would have grown so far. */
void memory_use_stack_at(uint64_t sp);
bool memory_use_is_stack(const struct mapping *m);
