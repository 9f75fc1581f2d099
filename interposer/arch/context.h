/* The registers of a stopped thread, as they are kept in images and between threads. */
#pragma once
#include <stdint.h>
#include <ucontext.h>
#include "arch/x86_64/base/context.h"

void context_save(struct context *c, const ucontext_t *uc);
/* Loads all registers; the kernel's own parts of the frame stay. */
void context_load(ucontext_t *uc, const struct context *c);
/* Likewise, of the vector state only x87 and SSE, into a context that no thread will run. */
void context_look(ucontext_t *uc, const struct context *c);
/* Gives uc, a copy of `from`, a vector state of its own in `vectors`, which is aligned to 64 bytes. */
void context_own_vectors(ucontext_t *uc, struct context *vectors, const ucontext_t *from);

static inline uint64_t context_sp(const struct context *c);
/* Makes c the context of a new thread after the system call that created it; stack 0: it keeps the parent's stack
 * pointer. */
static inline void context_child(struct context *c, uint64_t stack);
