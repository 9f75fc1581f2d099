#include <asm/prctl.h>
#include <errno.h>
#include "answer/syscall_table.h"
#include "base/thread.h"
#include "base/user.h"

#define A(i) (ev->args[i])

long call_arch_prctl(struct event *ev, ucontext_t *uc)
{
	const uint64_t none = 0;
	if ((A(0) == ARCH_SET_FS || A(0) == ARCH_SET_GS) && A(1) >= RDB_USER_END)
		return -EPERM;
	switch (A(0)) {
	case ARCH_SET_FS: thread_self()->upper.tls = A(1); return 0;
	case ARCH_GET_FS: return user_write(A(1), &thread_self()->upper.tls, sizeof(uint64_t));
	case ARCH_GET_GS: return user_write(A(1), &none, sizeof(none));
	case ARCH_SET_GS:
		if (A(1))
			rdb_fatal("the program uses the GS base (arch_prctl), which rdb needs for itself");
		return 0;
	default: return -EINVAL; /* CET, AMX and others are not offered */
	}
}
