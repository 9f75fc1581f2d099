#include "answer/seccomp_calls.h"
#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "answer/unknown_calls.h"
#include "arch/machine.h"
#include "arch/registers.h"
#include "base/seccomp.h"
#include "base/user.h"
#include "crossing/filters.h"
#include "task/signals.h"
#include "task/thread.h"

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1 /* si_code of the SIGSYS of a filter */
#endif

enum {
	FLAGS_KNOWN = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW |
		      SECCOMP_FILTER_FLAG_TSYNC_ESRCH
};

/* The arguments of seccomp(2). */
struct request {
	uint64_t operation, flags, at;
};

static struct request request_of(const struct event *ev)
{
	const uint64_t *a = ev->args;
	if (ev->nr == SYS_seccomp)
		return (struct request){(uint32_t)a[0], (uint32_t)a[1], a[2]};
	switch (a[1]) {
	case SECCOMP_MODE_STRICT: return (struct request){SECCOMP_SET_MODE_STRICT, 0, 0};
	case SECCOMP_MODE_FILTER: return (struct request){SECCOMP_SET_MODE_FILTER, 0, a[2]};
	default: return (struct request){UINT64_MAX, 0, 0};
	}
}

/* user_namespaces(7): CAP_SYS_ADMIN in its own namespace. */
static bool may_filter(void)
{
	const struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	if (raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1)
		return true;
	return !raw_syscall(SYS_capget, (long)&header, (long)data, 0, 0, 0, 0) &&
	       data[0].effective & 1u << CAP_SYS_ADMIN;
}

/* SECCOMP_FILTER_FLAG_TSYNC: the first thread whose filters are not also the caller's; NULL: there is none. */
static const struct thread *apart(void)
{
	const struct thread *self = thread_self(), *t = threads_first();
	while (t && (t == self || filters_follow(self->upper.filter, t->upper.filter)))
		t = t->next;
	return t;
}

/* The checks of the kernel (kernel/seccomp.c), in its order. */
static long set_filter(const struct request *r)
{
	struct sock_fprog program;
	if (r->flags == SECCOMP_FILTER_FLAG_NEW_LISTENER && r->at)
		refused_request("seccomp", SYS_seccomp, SECCOMP_FILTER_FLAG_NEW_LISTENER, EINVAL,
				"rdb cannot record what another process answers for the program");
	if (r->flags & ~(uint64_t)FLAGS_KNOWN)
		return -EINVAL;
	if (user_read(&program, r->at, sizeof(program)))
		return -EFAULT;
	if (!program.len || program.len > BPF_MAXINSNS)
		return -EINVAL;
	if (!may_filter())
		return -EACCES;
	if (!program.filter)
		return -EINVAL;
	const long rc = filters_check(thread_self()->upper.filter, (uint64_t)program.filter, program.len);
	const struct thread *other = !rc && r->flags & SECCOMP_FILTER_FLAG_TSYNC ? apart() : NULL;
	return !other ? rc : r->flags & SECCOMP_FILTER_FLAG_TSYNC_ESRCH ? -ESRCH : other->upper.tid;
}

static long action_available(const struct request *r)
{
	uint32_t action;
	if (r->flags)
		return -EINVAL;
	if (user_read(&action, r->at, sizeof(action)))
		return -EFAULT;
	switch (action) {
	case SECCOMP_RET_KILL_PROCESS:
	case SECCOMP_RET_KILL_THREAD:
	case SECCOMP_RET_TRAP:
	case SECCOMP_RET_ERRNO:
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ALLOW: return 0;
	default: return -EOPNOTSUPP;
	}
}

long seccomp_answered(const struct event *ev)
{
	const struct request r = request_of(ev);
	switch (r.operation) {
	case SECCOMP_SET_MODE_STRICT: return r.flags || r.at || thread_self()->upper.filter ? -EINVAL : 0;
	case SECCOMP_SET_MODE_FILTER: return set_filter(&r);
	case SECCOMP_GET_ACTION_AVAIL: return action_available(&r);
	default: return -EINVAL;
	}
}

static void set_for_all(uint64_t filter)
{
	const bool no_new_privs = !replaying() && raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1;
	for (struct thread *t = threads_first(); t; t = t->next) {
		t->upper.filter = filter;
		t->no_new_privs = no_new_privs && t != thread_self();
	}
}

void seccomp_done(const struct event *ev)
{
	const struct request r = request_of(ev);
	struct thread *self = thread_self();
	struct sock_fprog program;
	if (ev->result)
		return;
	if (r.operation == SECCOMP_SET_MODE_STRICT)
		self->upper.filter = FILTERS_STRICT;
	if (r.operation != SECCOMP_SET_MODE_FILTER || user_read(&program, r.at, sizeof(program)))
		return;
	threads_lock();
	const uint64_t filter = filters_add(self->upper.filter, (uint64_t)program.filter, program.len);
	if (r.flags & SECCOMP_FILTER_FLAG_TSYNC)
		set_for_all(filter);
	else
		self->upper.filter = filter;
	threads_unlock();
}

void in_seccomp(struct event *ev)
{
	const struct request r = request_of(ev);
	struct sock_fprog program;
	if (r.operation == SECCOMP_GET_ACTION_AVAIL)
		event_sent(ev, (const void *)r.at, sizeof(uint32_t));
	if (r.operation != SECCOMP_SET_MODE_FILTER || user_read(&program, r.at, sizeof(program)))
		return;
	event_sent(ev, (const void *)r.at, sizeof(program));
	event_sent(ev, program.filter, program.len * sizeof(*program.filter));
}

int seccomp_mode(const struct thread *t, unsigned kernel)
{
	return t->upper.filter == FILTERS_STRICT ? SECCOMP_MODE_STRICT
	       : seccomp_filters(t, kernel)      ? SECCOMP_MODE_FILTER
						 : SECCOMP_MODE_DISABLED;
}

unsigned seccomp_filters(const struct thread *t, unsigned kernel)
{
	return filters_count(t->upper.filter) + kernel - (kernel && seccomp_in_use());
}

/* ---- calls ---- */

/* As after a fault: the program's handler runs next, or the process ends. */
static void raised(ucontext_t *uc, uint32_t nr, int sig, bool kills, int reason)
{
	siginfo_t info = {.si_signo = sig, .si_code = SYS_SECCOMP, .si_errno = reason};
	info.si_call_addr = (void *)UC_PC(uc);
	info.si_syscall = (int)nr;
	info.si_arch = MACHINE_AUDIT_ARCH;
	uc_no_fault(uc);
	if (kills)
		lower.upper.sigactions[sig].handler = (uint64_t)SIG_DFL;
	signals_fault(sig, &info, uc);
}

bool seccomp_forbids(ucontext_t *uc, uint32_t nr, const uint64_t args[6])
{
	struct thread *self = thread_self();
	if (lower.mode->asked)
		lower.mode->asked(); /* the agent opens the pages that it has closed */
	if (self->no_new_privs && !replaying())
		self->no_new_privs = raw_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) != 0;
	const uint32_t says = filters_say(self, uc), action = says & SECCOMP_RET_ACTION_FULL;
	const int data = says & SECCOMP_RET_DATA;
	const bool ends_thread = action == SECCOMP_RET_KILL_THREAD && threads_alive() > 1;
	if (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG)
		return false;
	if (!ends_thread && (int32_t)action < (int32_t)SECCOMP_RET_ERRNO) {
		const bool kills = action != SECCOMP_RET_TRAP;
		raised(uc, nr, kills ? data : SIGSYS, kills, kills ? 0 : data);
		return true;
	}
	if (lower.mode->cut && lower.mode->cut(uc, nr, args))
		return true;
	const bool answered = lower.started && replaying();
	struct event *ev = event_begin(LOG_SYSCALL, nr, args, 6);
	if (answered) {
		lower.mode->question(ev, uc);
		lower.mode->answer(ev, uc);
	}
	const long result = ends_thread                   ? 0
			    : action != SECCOMP_RET_ERRNO ? -ENOSYS /* nobody traces it, or answers for it */
							  : -(data < 4095 ? data : 4095);
	if (answered && ev->result != result)
		lower.mode->diverged(uc, "event %lu: a filter of the program (seccomp) answered %ld, answers %ld",
				     (unsigned long)lower.event, (long)ev->result, result);
	ev->result = result;
	if (ends_thread)
		thread_dying();
	UC_RESULT(uc) = (uint64_t)result;
	event_end(ev);
	if (ends_thread)
		self->state = THREAD_ENDS;
	event_answered(self->hot ? NULL : uc);
	if (ends_thread)
		thread_exit(uc);
	return true;
}
