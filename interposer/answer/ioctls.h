/* ioctl: which requests put what where, and which are refused. */
#ifndef RDB_IOCTLS_H
#define RDB_IOCTLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests of devices whose answers (or whose memory) cannot be logged fail as if the device did not know
 * them: -errno, or 0: the kernel may be asked. */
int ioctl_refused(unsigned req);
/* What it puts where is known. */
bool ioctl_known(unsigned req);
/* The program's memory may be read there: the kernel is asked. */
bool may_be_read(uint64_t addr, size_t len);

#endif
