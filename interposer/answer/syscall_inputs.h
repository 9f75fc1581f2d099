/* The memory of the program that a system call reads (syscall_inputs.def). */
#pragma once
#include "crossing/event.h"

/* While recording, before the call: notes the memory that the program hands out with it. */
void syscall_inputs(struct event *ev);

/* Can this string be read?  0: there is none, which the call may allow. */
bool syscall_string_there(uint64_t addr);
/* Can all strings among the arguments be read?  Ask this before looking into a path.  If not, the kernel decides which
 * error it is. */
bool syscall_strings_there(const struct event *ev);

/* ioctls.c: how many bytes the request reads at the third argument. */
size_t ioctl_reads(unsigned req);
