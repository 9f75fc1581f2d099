/* Our own descriptors: out of the program's way, above its limit where that can be. */
#ifndef RDB_DESCRIPTORS_H
#define RDB_DESCRIPTORS_H
#include "base/lower.h"

/* Decides where they live: once, at the start. */
void descriptors_init(void);
/* openat(2) of ours, also while the program has used up its descriptors.  A descriptor or -errno. */
int descriptor_open(int dirfd, const char *path, int flags, mode_t mode);
/* Closes one that lower_fd() has moved. */
void lower_fd_close(int fd);
/* Takes all free numbers below ours, so that what a library opens from now on is above them; until the program's
 * own are made (closed with them).  0 or -errno. */
int descriptors_reserve(void);
/* Not one that the program may close or replace. */
bool descriptor_is_ours(int fd);
/* close_range(2), around ours. */
long descriptors_close_range(unsigned first, unsigned last, unsigned flags);

#endif
