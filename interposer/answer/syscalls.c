#include <errno.h>
#include <string.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "base/descriptors.h"
#include "base/user.h"
#include "answer/socket_notes.h"
#include "answer/attributes.h"
#include "answer/clock_calls.h"
#include "answer/ioctls.h"
#include "answer/file_limit.h"
#include "answer/kept_files.h"
#include "answer/other_names.h"
#include "answer/device_paths.h"
#include "space/followed.h"
#include "space/shared_memory.h"
#include "space/shared_sync.h"
#include "answer/prctl_calls.h"
#include "answer/pid_calls.h"
#include "answer/process.h"
#include "task/envoy.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "answer/open_notes.h"
#include "answer/redirect.h"
#include "answer/seccomp_calls.h"
#include "answer/stack_limit.h"
#include "answer/passed_calls.h"
#include "answer/syscall_inputs.h"
#include "answer/syscall_outputs.h"
#include "answer/syscall_table.h"
#include "answer/undo.h"
#include "answer/unknown_calls.h"
#include "task/thread.h"
#include "task/waited.h"

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

/* The signal mask that a call sets while it waits.  False: the call sets none, or the kernel will refuse the mask
 * itself. */
static bool mask_of_call(const struct event *ev, uint64_t *mask)
{
	uint64_t at_and_size[2];
	switch (ev->nr) {
	case SYS_rt_sigsuspend: return A(1) == sizeof(*mask) && !user_read(mask, A(0), sizeof(*mask));
	case SYS_ppoll: return A(4) == sizeof(*mask) && !user_read(mask, A(3), sizeof(*mask));
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2: return A(5) == sizeof(*mask) && !user_read(mask, A(4), sizeof(*mask));
	case SYS_pselect6:
		return !user_read(at_and_size, A(5), sizeof(at_and_size)) && at_and_size[1] == sizeof(*mask) &&
		       !user_read(mask, at_and_size[0], sizeof(*mask));
	default: return false;
	}
}

static bool starts_thread(const struct event *ev, struct clone_request *r)
{
	if (ev->nr != SYS_clone && ev->nr != SYS_clone3)
		return false;
	*r = process_clone_request(ev);
	return r->flags & CLONE_THREAD;
}

/* A string argument cannot be read, so the call fails: the kernel decides with which error.  If the memory has become
 * readable meanwhile, calls that must not succeed fail with -EFAULT. */
static long no_strings(const struct event *ev)
{
	const uint64_t *a = ev->args;
	if (ev->nr == SYS_execve || ev->nr == SYS_execveat)
		return process_exec_unreadable(ev);
	const long rc = raw_syscall((long)ev->nr, (long)a[0], (long)a[1], (long)a[2], (long)a[3], (long)a[4],
				    (long)a[5]);
	return rc < 0 ? rc : -EFAULT;
}

static long pass(struct event *ev, ucontext_t *uc, bool *in_child)
{
	struct timespec left;
	struct pid_room ids;
	struct clock_room time;
	char device[LONGEST];
	struct passed p = {.ev = ev, .uc = uc, .in_child = in_child};
	uint64_t *a = p.a;
	int64_t linked;
	long made;
	uint64_t mask;
	p.masked = mask_of_call(ev, &mask);
	memcpy(a, ev->args, sizeof(p.a));
	clocks_in(ev->nr, a, &time);
	pids_in(ev->nr, a, &ids);
	if (pids_link(ev->nr, a, &linked))
		return (long)linked;
	if (ev->waited_ns && waited_before(ev, a, &left))
		return 0;
	device_paths(ev->nr, a, device);
	if (ev->nr != SYS_open && ev->nr != SYS_openat && /* open: after /proc has been dealt with */
	    other_names->paths(ev->nr, a, p.room))
		return 0;
	redirect_followed(ev->nr, a);
	if (passed_call(&p, &made) || redirect_busy(ev->nr, a, &made))
		return made;
	return file_limit_call(ev, a);
}

void syscall_event(ucontext_t *uc)
{
	const uint64_t nr = (uint32_t)UC_CALL(uc); /* the kernel ignores the upper half */
	uint64_t args[6];
	uc_arguments(uc, args);
	const struct row *row = syscall_row(nr);
	enum class class = row ? row->class : UNKNOWN;
	if (thread_self()->upper.filter && seccomp_forbids(uc, (uint32_t)nr, args))
		return;
	syscall_narrow(nr, args);
	if (lower.mode->cut && lower.mode->cut(uc, (uint32_t)nr, args))
		return;
	if (!lower.started && (nr == SYS_clone || nr == SYS_clone3 || nr == SYS_fork || nr == SYS_vfork))
		boundary_started_early(uc);
	struct event *ev = event_begin(LOG_SYSCALL, (uint32_t)nr, args, 6);
	bool answered = lower.started && replaying();

	if (answered)
		lower.mode->question(ev, uc);
	else
		syscall_inputs(ev);
	uint64_t mask;
	if (mask_of_call(ev, &mask))
		signals_suspend(mask);

	const bool ends_thread = nr == SYS_exit && threads_alive() > 1;
	struct clone_request clone;
	if (answered && (ends_thread || !(class == EMU && row->emu == call_exit)))
		lower.mode->answer(ev, uc);
	const bool there = syscall_strings_there(ev);
	struct kept kept;
	struct attributes attributes;
	if (there) {
		if (!answered && lower.mode->before_syscall)
			lower.mode->before_syscall(ev);
		kept_before(ev, &kept);
		attributes_before(ev, &attributes);
		undo_before(ev, &kept, &attributes);
	}
	if (!there && class != FAIL) {
		if (!answered)
			ev->result = no_strings(ev);
	} else if (class == EMU) {
		int64_t recorded = ev->result;
		ev->emulated = true;
		const bool parallel = passing() && !ends_thread && row->emu != call_exit;
		if (parallel)
			threads_lock();
		ev->result = row->emu(ev, uc);
		if (parallel)
			threads_unlock();
		if (answered && ev->result != recorded)
			lower.mode->diverged(uc, "event %lu: %s: the result was %#lx, is %#lx",
					     (unsigned long)lower.event, row->name, (unsigned long)recorded,
					     (unsigned long)ev->result);
	} else if (class == FAIL) {
		ev->result = -row->error;
		refused_call(row);
	} else if (class == UNKNOWN && !answered && !lower.opt.lax) {
		ev->result = -ENOSYS; /* as on an older kernel */
		refused_unknown((unsigned)nr);
	} else if (!answered) {
		bool in_child = false;
		const bool unknown = class == UNKNOWN || (nr == SYS_ioctl && !ioctl_known((unsigned)A(1)));
		const bool watched = unknown && lower.opt.lax && recording() && lower.started;
		if (watched)
			unknown_call_before();
		if (followed_before_write(ev))
			envoy_begin(0);
		if (shared_regions)
			shared_before_write(ev);
		ev->result = pass(ev, uc, &in_child);
		if (in_child)
			return; /* the child is at its own event 0 */
		prctl_user_changed(nr);
		if (watched)
			unknown_call_after(ev);
		ev->result = clocks_out(nr, ev->args, pids_out(nr, ev->args, ev->result));
		other_names->stat(nr, ev->args, ev->result);
		signal_timer_call(ev);
		if (row && recording() && lower.started) {
			syscall_row_outputs(ev, row);
			open_notes(ev);
			kept_after(ev, &kept);
			attributes_after(ev, &attributes);
			note_socket(ev);
		} else if (there && undo_follows()) {
			undo_after(ev, &kept);
		}
	} else if (starts_thread(ev, &clone)) {
		thread_cloned(ev, uc, &clone);
	}
	stack_limit_call(ev);
	if (lower.mode->after_syscall)
		lower.mode->after_syscall(ev);
	if (nr == SYS_prctl)
		prctl_done(ev);
	if (nr == SYS_seccomp)
		seccomp_done(ev);
	/* kernel/signal.c, restore_saved_sigmask_unless: a signal that the call's mask lets through runs with EINTR only */
	if (ev->result != -EINTR && thread_self()->upper.suspended)
		signals_resume();
	UC_RESULT(uc) = (uint64_t)ev->result;
	if (ev->result == SIGNALS_RESTART) {
		/* the handler runs first, then the program repeats the call */
		UC_CALL(uc) = nr;
		UC_PC(uc) -= SYSCALL_BYTES;
	}
	event_end(ev);
	if (ends_thread)
		thread_self()->state = THREAD_ENDS;
	event_answered(thread_self()->hot ? NULL : uc);
	if (ends_thread)
		thread_exit(uc);
}
