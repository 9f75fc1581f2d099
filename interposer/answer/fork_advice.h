/* MADV_WIPEONFORK and MADV_DONTFORK (madvise(2)): memory that is zero in a child of the program, or is not there.  The
 * kernel is not told: our own forks (images, replicas) must keep the contents. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_DONTFORK, MADV_DOFORK. 0 or -errno, as the kernel answers. */
long fork_advice(int advice, uint64_t start, uint64_t end);
/* The mapping is gone, or another one. */
void fork_advice_forget(uint64_t start, uint64_t end);
/* mremap(2): the new mapping has the advice of the old one. */
void fork_advice_moved(uint64_t old, uint64_t at, size_t len);
void fork_advice_in_child(void);
/* MADV_FREE, which changes nothing under rdb: can it be for all of [start, end)? 0 or -errno. */
long fork_advice_is_private(uint64_t start, uint64_t end);
