#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "base/lower.h"
#include "base/user.h"
#include "answer/memory_calls.h"
#include "task/thread.h"
#include "answer/unknown_calls.h"
#include "include/rdb.h"
#include "answer/hook_calls.h"
#include "answer/prctl_calls.h"
#include "answer/seccomp_calls.h"
#include "answer/syscall_outputs.h"

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

/* missing in some headers */
enum {
	GET_AUXV = 0x41555856,
	SET_DISPATCH = 59,
	SCHED_CORE = 62,
	SET_MDWE = 65,
	GET_MDWE,
	SET_VMA = 0x53564d41,
	SET_MEMORY_MERGE = 67
};

/* A name for memory (mm/madvise.c, set_anon_vma_name): the kernel says whether it knows names, and this one.  None is
 * given: it would divide mappings. */
static long named(const struct event *ev)
{
	const uint64_t page = A(2) & ~(RDB_PAGE - 1), len = (A(3) + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	const int rc = prctl(SET_VMA, A(1), page, 0, A(4));
	if (rc)
		return -errno;
	if (A(2) != page || len < A(3) || page + len < page)
		return -EINVAL;
	return len && memory_gap(page, page + len) ? -ENOMEM : 0;
}

/* kernel/sys.c, prctl_set_mm: as to an unprivileged program */
static long set_mm(const struct event *ev)
{
	const unsigned size = sizeof(struct prctl_mm_map);
	const bool longer = A(1) == PR_SET_MM_AUXV || A(1) == PR_SET_MM_MAP || A(1) == PR_SET_MM_MAP_SIZE;
	if (A(4) || (A(3) && !longer))
		return -EINVAL;
	if (A(1) == PR_SET_MM_MAP_SIZE)
		return user_write(A(2), &size, sizeof(size));
	refused_request("prctl option", SYS_prctl, PR_SET_MM, EPERM, "it would apply to rdb's own memory, too");
	return -EPERM;
}

bool prctl_answered(struct event *ev, long *result)
{
	switch (A(0)) {
	/* not passed on: if not dumpable, we could not read our own memory map (proc(5)).  The program is told the
	 * value it set. */
	case PR_SET_DUMPABLE: *result = A(1) > 1 ? -EINVAL : 0; return true;
	case RDB_PRCTL_CHECKPOINT:
		if (lower.mode->wanted)
			lower.mode->wanted();
		*result = 0;
		return true;
	case RDB_PRCTL_HOOKS: *result = hook_answered(ev); return true;
	case PR_GET_DUMPABLE: *result = 1 - (int)lower.upper.not_dumpable; return true;
	case GET_AUXV: {
		size_t n = A(2) < lower.upper.auxv_len ? A(2) : lower.upper.auxv_len;
		if (A(3) || A(4)) {
			*result = -EINVAL;
			return true;
		}
		*result = n ? user_write(A(1), (const void *)lower.upper.auxv_addr, n) : 0;
		if (!*result)
			*result = (long)lower.upper.auxv_len;
		return true;
	}
	/* passed on: only numbers, or an output that out_prctl() knows */
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
	case SET_VMA: *result = named(ev); return true;
	case PR_GET_SECCOMP: *result = seccomp_mode(thread_self(), prctl(PR_GET_SECCOMP) > 0); return true;
	case PR_SET_SECCOMP: *result = seccomp_answered(ev); return true;
	case PR_GET_TSC: *result = user_write(A(1), &(int){PR_TSC_ENABLE}, sizeof(int)); return true;
	case PR_GET_TID_ADDRESS:
		*result = user_write(A(1), &thread_self()->upper.clear_child_tid, sizeof(uint64_t));
		return true;
	case GET_MDWE: *result = A(1) || A(2) || A(3) || A(4) ? -EINVAL : 0; return true;
	/* what changes nothing, and what we must not allow */
	case PR_SET_TSC:
		*result = A(1) == PR_TSC_ENABLE ? 0 : -EINVAL;
		if (A(1) == PR_TSC_SIGSEGV)
			refused_prctl((unsigned)A(0), "RDTSC would trap where rdb cannot record it");
		return true;
	case SET_MDWE:
		*result = A(1) || A(2) || A(3) || A(4) ? -EINVAL : 0;
		if (*result && A(1) < 4)
			refused_prctl((unsigned)A(0), "the kernel would refuse rdb's patches of the program's "
						      "instructions");
		return true;
	case PR_SET_MM: *result = set_mm(ev); return true;
	case SET_DISPATCH:
		*result = -EINVAL;
		refused_prctl((unsigned)A(0), "it would apply to rdb's own system calls and memory, too");
		return true;
	/* unknown: answered as by an older kernel */
	default: *result = -EINVAL; return true;
	}
}

void prctl_done(const struct event *ev)
{
	if (A(0) == RDB_PRCTL_HOOKS)
		hook_done(ev);
	if (ev->result)
		return;
	if (A(0) == PR_SET_NAME)
		snprintf(thread_self()->upper.name, sizeof(thread_self()->upper.name), "%.15s", (const char *)P(1));
	else if (A(0) == PR_SET_DUMPABLE)
		lower.upper.not_dumpable = !A(1);
	else if (A(0) == PR_SET_SECCOMP)
		seccomp_done(ev);
}

/* proc(5), suid_dumpable: a process whose user, group or capabilities change is no longer dumpable. */
void prctl_user_changed(uint64_t nr)
{
	switch (nr) {
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setfsuid:
	case SYS_setfsgid:
	case SYS_capset: break;
	default: return;
	}
	const int now = prctl(PR_GET_DUMPABLE);
	if (now < 0 || now == 1)
		return;
	lower.upper.not_dumpable = (uint32_t)(1 - now);
	prctl(PR_SET_DUMPABLE, 1);
}

void out_prctl(struct event *ev)
{
	if (ev->result < 0)
		return;
	switch (A(0)) {
	case PR_GET_NAME: out_if(ev, A(1), 16); return;
	case PR_GET_TID_ADDRESS: out_if(ev, A(1), 8); return;
	case PR_GET_TSC:
	case PR_GET_PDEATHSIG:
	case PR_GET_CHILD_SUBREAPER: out_if(ev, A(1), 4); return;
	case PR_SET_MM: out_if(ev, A(2), sizeof(unsigned)); return; /* PR_SET_MM_MAP_SIZE */
	case SCHED_CORE:
		if (A(1) == 0 /* PR_SCHED_CORE_GET */)
			out_if(ev, A(4), 8);
		return;
	case GET_AUXV: out_if(ev, A(1), A(2) < (uint64_t)ev->result ? A(2) : (uint64_t)ev->result); return;
	}
}
