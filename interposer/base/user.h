/* Access to program memory named by arguments of a system call. An unmapped address is an error, not a fault. */
#pragma once
#include <errno.h>
#include <stdint.h>
#include "base/guarded_copy.h"
#include "interface/layout.h"

/* 0 or -EFAULT, like copy_from_user and copy_to_user of the kernel. */
static inline int user_read(void *to, uint64_t from, size_t len)
{
	return RDB_IS_UPPER(from) && guarded_copy(to, (const void *)from, len) == len ? 0 : -EFAULT;
}

static inline int user_write(uint64_t to, const void *from, size_t len)
{
	return RDB_IS_UPPER(to) && guarded_copy((void *)to, from, len) == len ? 0 : -EFAULT;
}

/* Is the whole range mapped and writable? len must not be 0. */
bool user_writable(uint64_t at, size_t len);
