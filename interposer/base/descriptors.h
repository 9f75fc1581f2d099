/* Descriptors of the lower half: outside the program's range, above its limit if possible. */
#pragma once
#include "base/lower.h"

/* Chooses the range of our descriptors; called once, at the start. */
void descriptors_init(void);
/* openat(2) that succeeds even if the program has used up its descriptors. A descriptor or -errno. */
int descriptor_open(int dirfd, const char *path, int flags, mode_t mode);
/* Reads a file, such as proc(5) has, up to its end or the room, and terminates the text.  Its length, or -errno: then the
 * text is empty. */
ssize_t descriptor_text(const char *path, char *text, size_t room);
/* Some of those in reserve for that were used.  Refill before the program runs on, or it takes their numbers. */
extern bool descriptors_spent;
void descriptors_refill(void);
/* Moves a descriptor of a replica to a high number, if the limit allows that; the one it has now. */
int descriptor_high(int fd);
/* Closes a descriptor that lower_fd() moved. */
void lower_fd_close(int fd);
/* Occupies all free numbers below ours, so that a library opens its descriptors above them. They are released when the
 * program's own descriptors are made. 0 or -errno. */
int descriptors_reserve(void);
/* Ours: the program may neither close nor replace it. */
bool descriptor_is_ours(int fd);
/* The highest descriptor of the program up to `last`; -1: none.  `last` if the program uses our range, too. */
int descriptors_highest(int last);
/* close_range(2) that leaves out our descriptors. */
long descriptors_close_range(unsigned first, unsigned last, unsigned flags);
