/* MADV_WIPEONFORK (madvise(2)): memory that is zero in a child of the program.  The kernel is not told: our own forks
 * (images, replicas) must keep the contents. */
#ifndef RDB_WIPED_H
#define RDB_WIPED_H
#include <stddef.h>
#include <stdint.h>

/* 0 or -errno, as the kernel answers. */
long wiped_on_fork(uint64_t start, uint64_t end);
void wiped_not_any_more(uint64_t start, uint64_t end);
/* mremap(2): the new mapping is wiped if the old one is. */
void wiped_moved(uint64_t old, uint64_t at, size_t len);
void wiped_in_child(void);

#endif
