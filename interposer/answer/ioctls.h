/* ioctl: what each request reads and writes, and which requests are refused. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -errno if the request must be refused: its answer, or the device's memory, cannot be logged.  The error is that of a
 * device that does not know the request. 0: the kernel may be asked. */
int ioctl_refused(int fd, unsigned req);
/* Is it known what the request writes? */
bool ioctl_known(unsigned req);
/* Can the program's memory be read there?  Asks the kernel. */
bool may_be_read(uint64_t addr, size_t len);
