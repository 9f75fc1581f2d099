#include "base/guarded_copy.h"
#include <stdint.h>
#include "arch/guarded.h"
#include "arch/registers.h"
#include "base/thread.h"

bool guarded_copy_faulted(ucontext_t *uc)
{
	struct thread *self = thread_self();
	if (UC_PC(uc) == (uint64_t)guarded_copy_at) {
		UC_PC(uc) = (uint64_t)guarded_copy_out;
		return true;
	}
	if (RDB_RUNS_UPPER(UC_PC(uc)) || !self || !self->guard_sp) /* a library's own thread has no struct thread */
		return false;
	UC_PC(uc) = (uint64_t)guarded_call_out;
	UC_SP(uc) = self->guard_sp;
	UC_RESULT(uc) = false;
	return true;
}

bool guarded_call(void (*fn)(void *arg), void *arg)
{
	return guarded_call_from(fn, arg, &thread_self()->guard_sp);
}
