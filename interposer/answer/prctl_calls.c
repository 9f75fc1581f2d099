#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include "base/lower.h"
#include "include/rdb.h"
#include "answer/prctl_calls.h"
#include "answer/syscall_outputs.h"

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

/* newer than some headers */
enum { GET_AUXV = 0x41555856, SET_DISPATCH = 59, SCHED_CORE = 62, SET_VMA = 0x53564d41, SET_MEMORY_MERGE = 67 };

/* PR_SET_DUMPABLE: not dumpable, we could not read our own memory map (proc(5)); the program is told what
 * it asked for. */
static uint64_t dumpable = 1;

bool prctl_answered(struct event *ev, long *result)
{
	switch (A(0)) {
	case PR_SET_DUMPABLE:
		*result = A(1) > 1 ? -EINVAL : 0;
		if (!*result)
			dumpable = A(1);
		return true;
	case RDB_PRCTL_CHECKPOINT:
		if (lower.mode->wanted)
			lower.mode->wanted();
		*result = 0;
		return true;
	case PR_GET_DUMPABLE: *result = (long)dumpable; return true;
	case GET_AUXV: {
		size_t n = A(2) < lower.upper.auxv_len ? A(2) : lower.upper.auxv_len;
		if (A(3) || A(4)) {
			*result = -EINVAL;
			return true;
		}
		memcpy(P(1), (const void *)lower.upper.auxv_addr, n);
		*result = (long)lower.upper.auxv_len;
		return true;
	}
	/* plain forms: nothing but numbers, or an output that out_prctl() knows */
	case PR_GET_NAME:
	case PR_SET_NAME:
	case PR_SET_PDEATHSIG:
	case PR_GET_PDEATHSIG:
	case PR_SET_CHILD_SUBREAPER:
	case PR_GET_CHILD_SUBREAPER:
	case PR_GET_KEEPCAPS:
	case PR_SET_KEEPCAPS:
	case PR_GET_TIMING:
	case PR_SET_TIMING:
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
	case PR_GET_SECUREBITS:
	case PR_SET_SECUREBITS:
	case PR_SET_TIMERSLACK:
	case PR_GET_TIMERSLACK:
	case PR_TASK_PERF_EVENTS_DISABLE:
	case PR_TASK_PERF_EVENTS_ENABLE:
	case PR_MCE_KILL:
	case PR_MCE_KILL_GET:
	case PR_SET_PTRACER:
	case PR_SET_NO_NEW_PRIVS:
	case PR_GET_NO_NEW_PRIVS:
	case PR_SET_THP_DISABLE:
	case PR_GET_THP_DISABLE:
	case PR_CAP_AMBIENT:
	case PR_GET_SPECULATION_CTRL:
	case PR_SET_SPECULATION_CTRL:
	case PR_SET_IO_FLUSHER:
	case PR_GET_IO_FLUSHER:
	case SCHED_CORE:
	case SET_MEMORY_MERGE:
	case SET_MEMORY_MERGE + 1: return false;
	case SET_VMA: *result = 0; return true; /* a name for a mapping: ours to give, and nobody reads it */
	case PR_GET_SECCOMP: *result = 0; return true;
	/* PR_SET_SECCOMP, PR_SET_MM, PR_SET_TSC, PR_GET_TID_ADDRESS, PR_SET_MDWE and what comes after our
	 * time: as an older kernel says */
	default: *result = -EINVAL; return true;
	}
}

void out_prctl(struct event *ev)
{
	if (ev->result < 0)
		return;
	switch (A(0)) {
	case PR_GET_NAME: out_if(ev, A(1), 16); return;
	case PR_GET_PDEATHSIG:
	case PR_GET_CHILD_SUBREAPER: out_if(ev, A(1), 4); return;
	case SCHED_CORE:
		if (A(1) == 0 /* PR_SCHED_CORE_GET */)
			out_if(ev, A(4), 8);
		return;
	case GET_AUXV: out_if(ev, A(1), A(2) < (uint64_t)ev->result ? A(2) : (uint64_t)ev->result); return;
	}
}
