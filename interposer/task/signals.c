#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "arch/thread_pointer.h"
#include "arch/registers.h"
#include "task/baton.h"
#include "crossing/boundary.h"
#include "crossing/source.h"
#include "task/computation.h"
#include "text/hot_stubs.h"
#include "text/counter_sites.h"
#include "space/ends.h"
#include "space/rank_files.h"
#include "base/pids.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/queued_to.h"
#include "task/signals.h"
#include "task/halt.h"
#include "text/spin_sites.h"
#include "task/thread.h"

#define STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

/* A signal waits for an event no longer than this; then it is delivered in the middle of the computation. */
enum { PATIENCE_MS = 5 };

extern const char interruptible_begin[], interruptible_call[], interruptible_abort[]; /* gate.S */

/* Signals that some thread has blocked or waited for.  They wait here once sent, even if the program ignores them, as
 * the kernel would hold them until they are ignored. */
static uint64_t heard;
static uint64_t of_timers; /* signals that timers send to one thread; those that libc reserves come without a handler */

/* ---- dying ---- */

static void die(int sig)
{
	struct sigaction sa = {.sa_handler = SIG_DFL};
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigaction(sig, &sa, NULL);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raw_syscall(SYS_tgkill, lower.pid, raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), sig, 0, 0, 0);
}

bool signals_has_handler(int sig)
{
	uint64_t h = lower.upper.sigactions[sig].handler;
	return h != (uint64_t)SIG_DFL && h != (uint64_t)SIG_IGN;
}

bool signals_ignores(int sig)
{
	const uint64_t h = lower.upper.sigactions[sig].handler;
	return h == (uint64_t)SIG_IGN || (h == (uint64_t)SIG_DFL && (IGNORED_BY_DEFAULT & BIT(sig)));
}

/* Makes the program's handler run next.  Where its frame cannot be written the kernel raises SIGSEGV instead, which
 * kills if the signal is SIGSEGV already (kernel/signal.c, force_sigsegv). */
static bool handled(int sig, const siginfo_t *info, ucontext_t *uc)
{
	const siginfo_t instead = {.si_signo = SIGSEGV, .si_code = SI_KERNEL};
	if (lower.mode->asked)
		lower.mode->asked(); /* the agent opens the pages that it has closed */
	if (signal_frame_push(sig, info, uc))
		return true;
	uc_no_fault(uc);
	return sig != SIGSEGV && signals_has_handler(SIGSEGV) && !(thread_self()->upper.sigmask & BIT(SIGSEGV)) &&
	       signal_frame_push(SIGSEGV, &instead, uc);
}

/* The program dies by a SIGSEGV that its instruction does not raise again. */
static void no_frame(siginfo_t *info, ucontext_t *uc)
{
	if (lower.mode->killed) {
		lower.mode->killed(SIGSEGV, info, uc);
		return;
	}
	boundary_final_hash();
	boundary_end(LOG_END_SIGNAL, SIGSEGV, NULL);
	die(SIGSEGV);
}

void signals_bad_frame(ucontext_t *uc)
{
	siginfo_t info = {.si_signo = SIGSEGV, .si_code = SI_KERNEL};
	uc_no_fault(uc);
	if (!signals_has_handler(SIGSEGV) || thread_self()->upper.sigmask & BIT(SIGSEGV) ||
	    !signal_frame_push(SIGSEGV, &info, uc))
		no_frame(&info, uc);
}

void signals_fault(int sig, siginfo_t *info, ucontext_t *uc)
{
	uint64_t pc = UC_PC(uc);
	const bool upper = boundary_runs_upper(uc);
	if (source->asks(sig, info, uc))
		return;
	if (upper && signals_has_handler(sig) && !(thread_self()->upper.sigmask & BIT(sig))) {
		if (!replaying() && sig == SIGTRAP && info->si_code == TRAP_TRACE)
			rdb_fatal("the program sets the trap flag to step through itself, which rdb does not support");
		if (lower.mode->raises && lower.mode->raises(sig, info, uc))
			return;
		if (!handled(sig, info, uc))
			no_frame(info, uc);
		else if (lower.mode->handled)
			lower.mode->handled(uc);
		return;
	}
	if (replaying()) {
		if (upper)
			lower.mode->killed(sig, info, uc);
		else
			rdb_fatal("signal %d in rdb itself at %#lx, address %p", sig, (unsigned long)pc, info->si_addr);
		return;
	}
	if (upper)
		boundary_final_hash();
	boundary_end(LOG_END_SIGNAL, sig, NULL);
	/* go back to the instruction, which now kills us: the core is the program's */
	struct sigaction sa = {.sa_handler = SIG_DFL};
	sigaction(sig, &sa, NULL);
	int prot;
	const bool again = BIT(sig) & (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE)) && info->si_code > 0;
	if (!again || (sig == SIGBUS && ends_at((uint64_t)info->si_addr, &prot)))
		die(sig); /* the instruction would not raise the same again */
}

/* ---- arrival ---- */

static void end_by(int sig, bool own_doing)
{
	if (own_doing)
		boundary_end(LOG_END_SIGNAL, sig, NULL);
	else
		boundary_killed(sig);
	die(sig);
}

/* Makes the thread look at what is pending: its handler of this signal is on_reminder.  At most one is on its way: the
 * reminders of a thread that does not get to run would queue up, and stop it again and again later. */
void signals_remind(struct thread *t)
{
	siginfo_t info = {.si_signo = SIGNALS_REMINDER, .si_code = SI_QUEUE, .si_value.sival_ptr = (void *)SIGNALS_OWN};
	if (__atomic_exchange_n(&t->reminded, 1, __ATOMIC_SEQ_CST))
		return;
	if (raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, t->carrier, SIGNALS_REMINDER, (long)&info, 0, 0))
		__atomic_store_n(&t->reminded, 0, __ATOMIC_SEQ_CST);
}

static void set_patience(const struct thread *t, long ms)
{
	const struct itimerspec in = {.it_value = {.tv_nsec = ms * 1000000l}};
	raw_syscall(SYS_timer_settime, t->patience, 0, (long)&in, 0, 0, 0);
}

/* One timer for all signals that come meanwhile: a later one must not put off the first.  A raw system call, since libc
 * may be in the middle of something. */
static void start_patience(struct thread *self)
{
	if (self->patient)
		return;
	self->patient = true;
	struct sigevent how = {.sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGNALS_REMINDER,
			       .sigev_value.sival_ptr = (void *)SIGNALS_OWN};
	how._sigev_un._tid = self->carrier;
	if (!self->patience_made)
		self->patience_made = !raw_syscall(SYS_timer_create, CLOCK_MONOTONIC, (long)&how, (long)&self->patience,
						   0, 0, 0);
	if (self->patience_made)
		set_patience(self, PATIENCE_MS);
	else
		self->patient = false;
}

/* Stops the timer when the last due signal has been delivered. */
static void end_patience(struct thread *self)
{
	if (!self->patient || signal_due(self))
		return;
	set_patience(self, 0);
	self->patient = false;
	if (signal_due(self)) /* a signal came just now */
		start_patience(self);
}

/* Without a recording: delivers wherever the program stands, except where no unwinder knows the way. */
static void deliver_here(ucontext_t *uc)
{
	counter_stub_leave(uc);
	if (!hot_stubs_leading(uc) && !counter_stubs_inside(UC_PC(uc)))
		signals_want_delivery(uc);
}

/* Its default action ends the process (signal(7)). */
static bool kills(int sig)
{
	return lower.upper.sigactions[sig].handler == (uint64_t)SIG_DFL && !((IGNORED_BY_DEFAULT | STOPS) & BIT(sig));
}

static int killer_due(const struct thread *self)
{
	for (uint64_t due = signal_due(self); due; due &= due - 1)
		if (kills(__builtin_ctzl(due) + 1))
			return __builtin_ctzl(due) + 1;
	return 0;
}

/* Did the signal interrupt a system call that waits, or come before one that may? */
static bool in_wait(const ucontext_t *uc)
{
	const uint64_t pc = UC_PC(uc), call = (uint64_t)interruptible_call;
	return (pc >= (uint64_t)interruptible_begin && pc <= call) ||
	       (pc == call + SYSCALL_BYTES && UC_RESULT(uc) == (uint64_t)-EINTR);
}

/* Another process has opened a file that is mapped here.  `waits`: the calling thread is in a system call that waits. */
static void on_opened_files(bool waits)
{
	if (!rank_files_asked())
		return;
	if (baton_held() ? waits : !baton_by_thread())
		rank_files_saw(NULL);
	else
		baton_remind_holder();
}

/* The slice is over, or a signal has waited for long. */
static void on_reminder(struct thread *self, ucontext_t *uc)
{
	uint64_t pc = UC_PC(uc);
	const int killer = killer_due(self);
	if (killer && !ending_busy())
		end_by(killer, false);
	__atomic_store_n(&self->reminded, 0, __ATOMIC_SEQ_CST);
	self->yield = true;
	self->patient = false;
	if (in_wait(uc))
		on_opened_files(true);
	if (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call)
		UC_PC(uc) = (uint64_t)interruptible_abort;
	else if (RDB_RUNS_UPPER(pc) && passing())
		deliver_here(uc);
	else if (RDB_RUNS_UPPER(pc) && recording() && lower.started)
		computation_stopped(uc, signal_due(self) || rank_files_asked());
	/* on the way out of an event nobody checks any more, and not every place can have a mark */
	if (signal_due(self) || rank_files_asked())
		start_patience(self);
}

/* Other threads wait for the baton: does this one do anything but wait? */
static void on_look(struct thread *self, ucontext_t *uc)
{
	if (!recording() || !lower.started)
		return;
	if (RDB_RUNS_UPPER(UC_PC(uc)) && !self->trap_in_flight)
		computation_looked_at(uc, false);
	else
		self->look_missed = baton_held();
	baton_looked();
}

/* Holds the thread wherever it stands, if nothing of it is under way. */
static void on_checkpoint(struct thread *self, ucontext_t *uc)
{
	uint64_t pc = UC_PC(uc);
	lower.checkpoint_waits |= lower.mode->due && lower.mode->due();
	if (!lower.checkpoint_waits)
		return;
	bool gate = (pc & ~(RDB_PAGE - 1)) == RDB_GATE_CODE || hot_stubs_leading(uc) || self->trap_in_flight;
	const bool called = in_wait(uc);
	if (RDB_RUNS_UPPER(pc) && !gate && !self->depth) {
		lower.mode->hold(uc, NULL, NULL);
		deliver_here(uc); /* signals that have come meanwhile */
	} else if (called && self->uc && !self->frame) {
		signals_hold(self);
		lower.mode->hold(NULL, NULL, NULL);
	}
}

/* kernel/signal.c, complete_signal: the thread that the signal came to if it wants it, else any other that does. */
static struct thread *recipient(int sig, struct thread *self)
{
	struct thread *open = self->upper.sigmask & BIT(sig) ? NULL : self, *awaits = NULL;
	if (open)
		return open;
	threads_walk_begin();
	for (struct thread *t = threads_first(); t && !awaits; t = t->next) {
		awaits = t->awaited & BIT(sig) ? t : NULL;
		open = open || t->upper.sigmask & BIT(sig) ? open : t;
	}
	threads_walk_end();
	return awaits ? awaits : open;
}

/* kernel/signal.c, do_notify_parent: a process that ignores SIGCHLD is not told of its children */
static bool of_ignored_child(int sig, const siginfo_t *info)
{
	return sig == SIGCHLD && info->si_code > 0 && lower.upper.sigactions[sig].handler == (uint64_t)SIG_IGN;
}

bool signals_for_one(const siginfo_t *info)
{
	return info->si_code == SI_TKILL || (info->si_code == SI_TIMER && (of_timers & BIT(info->si_signo))) ||
	       queued_to_marked(info);
}

/* Signals that are to wait in the kernel (signals_sync_kernel()) are blocked there when the handler returns. */
static uint64_t close_in_kernel(struct thread *self, ucontext_t *uc)
{
	const uint64_t close = signals_wait_in_kernel() & self->upper.sigmask;
	__atomic_or_fetch(&self->kernel_mask, close, __ATOMIC_SEQ_CST);
	for (uint64_t left = close; left; left &= left - 1)
		sigaddset(&uc->uc_sigmask, __builtin_ctzl(left) + 1);
	return close;
}

/* Such a signal came to a thread that has not blocked it there yet, since it has been in a call: it goes back, at once or
 * by the first thread. */
static void back_to_kernel(struct thread *self, int sig, const siginfo_t *info)
{
	struct thread *first = threads_find(1);
	/* kernel/signal.c, do_rt_sigqueueinfo: only the first thread may say what the kernel says */
	if (signals_for_one(info) &&
	    !raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, self->carrier, sig, (long)info, 0, 0))
		return;
	if (!signals_for_one(info) && !raw_syscall(SYS_rt_sigqueueinfo, lower.pid, sig, (long)info, 0, 0, 0))
		return;
	if (info->si_code == SI_USER && info->si_pid == lower.pid && !raw_syscall(SYS_kill, lower.pid, sig, 0, 0, 0, 0))
		return;
	siginfo_t known = *info;
	pids_signal(&known);
	signal_keep(sig, &known, signals_for_one(info) ? self : NULL);
	if (first && !signals_for_one(info))
		signals_remind(first);
}

/* By kill(2), tkill(2) or tgkill(2), just now. */
static bool sent_by_itself(const siginfo_t *info)
{
	const struct event *ev = event_current();
	return ev && ev->kind == LOG_SYSCALL && (ev->nr == SYS_kill || ev->nr == SYS_tkill || ev->nr == SYS_tgkill) &&
	       info->si_pid == lower.pid;
}

/* A call that is not in the log yet, to the kernel or to MPI, may have been carried out, and others may have seen what it
 * did: the signal ends the process after that event, or when its patience is at its end. */
static bool answering(const ucontext_t *uc)
{
	const struct event *ev = event_current();
	return recording() && ev && (ev->kind == LOG_SYSCALL || ev->kind == LOG_HYPERCALL) &&
	       !RDB_RUNS_UPPER(UC_PC(uc)) && !in_wait(uc);
}

static void arrived(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct thread *self = thread_self();
	uint64_t pc = UC_PC(uc);
	self->interrupted = true;
	if (RDB_RUNS_UPPER(pc) && spin_sites_count) {
		spin_sites_leave(uc);
		pc = UC_PC(uc);
	}
	if (sig == SIGNALS_REMINDER && info->si_value.sival_ptr == (void *)SIGNALS_OWN) {
		on_reminder(self, uc);
		return;
	}
	if (sig == SIGNALS_REMINDER && info->si_value.sival_ptr == &baton_look_cookie) {
		on_look(self, uc);
		return;
	}
	if (sig == SIGNALS_REMINDER && halt_told(self, info)) {
		on_checkpoint(self, uc);
		return;
	}
	if (sig == SIGNALS_REMINDER && (info->si_code == SI_QUEUE || info->si_code == SI_TIMER) &&
	    info->si_value.sival_ptr == (void *)SIGNALS_CHECKPOINT) {
		if (lower.mode->told)
			lower.mode->told(info->si_code == SI_TIMER);
		on_checkpoint(self, uc);
		return;
	}
	if (sig == SIGNALS_REMINDER && info->si_code == SI_QUEUE && info->si_value.sival_ptr == (void *)SIGNALS_FILES) {
		if (recording() && lower.started)
			on_opened_files(in_wait(uc));
		return;
	}
	struct thread *to = signals_for_one(info) ? self : recipient(sig, self);
	bool blocked = !to || (to->upper.sigmask & BIT(sig));
	/* the kernel delivers it all the same, since it may be a fault of the program, or wait here */
	if (signals_ignores(sig) && ((!blocked && !(to->awaited & BIT(sig))) || of_ignored_child(sig, info)))
		return;
	const bool own_doing = sent_by_itself(info);
	if (!blocked && kills(sig) && !ending_busy() && (own_doing || to != self || !answering(uc))) {
		if (own_doing)
			boundary_final_hash();
		end_by(sig, own_doing);
	}
	if (blocked && !(to && to->awaited & BIT(sig)) && close_in_kernel(self, uc) & BIT(sig)) {
		back_to_kernel(self, sig, info);
		return;
	}
	pids_signal(info);
	signal_keep(sig, info, to);
	signals_hold_back(self, sig, info, uc);
	if (to && to != self)
		signals_remind(to);
	else if (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call)
		UC_PC(uc) = (uint64_t)interruptible_abort;
	else if (RDB_RUNS_UPPER(pc) && !blocked && passing())
		deliver_here(uc);
	/* also in the lower half: the event that has been answered may have looked for signals already */
	if (to == self && !blocked && signal_due(self))
		start_patience(self);
}

void signals_async(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	struct thread *self = thread_self();
	bool upper = RDB_RUNS_UPPER(UC_PC(uc));
	uint64_t fs = thread_pointer();
	thread_pointer_set(self->gate.lower_tls);
	if (upper)
		self->upper.tls = fs;
	arrived(sig, info, uc);
	if (sig == SIGNALS_REMINDER) { /* signals held back may be gone (signal_discard) */
		signals_sync_kernel(self);
		close_in_kernel(self, uc);
		if (self->carrier == lower.pid)
			signal_to_kernel(signals_wait_in_kernel() & self->upper.sigmask);
	}
	if (RDB_RUNS_UPPER(UC_PC(uc))) {
		memcpy(&uc->uc_sigmask, &self->kernel_mask, sizeof(self->kernel_mask));
		spin_sites_enter(uc);
	}
	thread_pointer_set(upper ? self->upper.tls : fs);
}

/* ---- dispositions ---- */

/* Signals that libc reserves, and sigaction(3) refuses.  The upper half's libc cancels threads and changes user ids
 * with them, the lower half's never does.  The kernel's form of the handler is copied from another signal. */
static void install_reserved(int sig)
{
	struct {
		uint64_t handler, flags, restorer, mask;
	} sa;
	uint64_t h = lower.upper.sigactions[sig].handler;
	raw_syscall(SYS_rt_sigaction, SIGNALS_REMINDER, 0, (long)&sa, 8, 0, 0);
	if (h == (uint64_t)SIG_IGN || (h == (uint64_t)SIG_DFL && !(of_timers & BIT(sig))))
		sa.handler = h;
	raw_syscall(SYS_rt_sigaction, sig, (long)&sa, 0, 8, 0, 0);
}

void signals_of_timer(const struct sigevent *how)
{
	const int sig = how->sigev_signo;
	if (how->sigev_notify != SIGEV_THREAD_ID || sig < 1 || sig > 64)
		return;
	of_timers |= BIT(sig);
	if (sig == 32 || sig == 33)
		signals_install_one(sig);
}

void signals_reclaim(void)
{
	for (int sig = 32; sig <= 33; sig++)
		if (!replaying() && (signals_has_handler(sig) || (of_timers & BIT(sig))))
			install_reserved(sig);
}

void signals_install_one(int sig)
{
	struct sigaction sa = {.sa_sigaction = signals_async, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (replaying())
		return; /* in replay signals come from the log */
	if ((SYNCHRONOUS & BIT(sig)) || sig == SIGKILL || sig == SIGSTOP)
		return;
	if (sig == 32 || sig == 33) {
		install_reserved(sig);
		return;
	}
	const uint64_t h = lower.upper.sigactions[sig].handler;
	if (sig == SIGCHLD)
		sa.sa_flags |= (int)lower.upper.sigactions[sig].flags & (SA_NOCLDSTOP | SA_NOCLDWAIT);
	if (sig == SIGNALS_REMINDER)
		; /* used by us as well as by the program */
	else if (signals_ignores(sig) && heard & BIT(sig))
		sa.sa_flags |= h == (uint64_t)SIG_IGN && sig == SIGCHLD ? SA_NOCLDWAIT : 0;
	else if (h == (uint64_t)SIG_IGN)
		sa.sa_handler = SIG_IGN;
	else if (h == (uint64_t)SIG_DFL && ((IGNORED_BY_DEFAULT | STOPS) & BIT(sig)))
		sa.sa_handler = SIG_DFL;
	sigaction(sig, &sa, NULL);
}

void signals_hear(uint64_t set)
{
	const uint64_t more = set &
			      ~(heard | SYNCHRONOUS | JOB_CONTROL | BIT(32) | BIT(33) | BIT(SIGKILL) | BIT(SIGSTOP));
	heard |= more;
	for (uint64_t left = more; left; left &= left - 1)
		if (signals_ignores(__builtin_ctzl(left) + 1))
			signals_install_one(__builtin_ctzl(left) + 1);
}

static void set_or_get(int sig, const struct upper_sigaction *to, struct upper_sigaction *was)
{
	raw_syscall(SYS_rt_sigaction, sig, (long)to, (long)was, 8, 0, 0);
}

void signals_inherit(void)
{
	for (int sig = 1; sig <= 64; sig++) {
		struct upper_sigaction was = {0};
		set_or_get(sig, NULL, &was);
		/* glibc's posix_spawn ignores the reserved signals, and its timers wait for one of them all the same */
		if (was.handler == (uint64_t)SIG_IGN && sig != 32 && sig != 33)
			lower.upper.sigactions[sig].handler = was.handler;
	}
}

void signals_before_exec(void)
{
	const struct upper_sigaction ignored = {.handler = (uint64_t)SIG_IGN};
	const uint64_t all = ~0ul;
	/* also the faults and the reserved signals: what is given back must not come to us again */
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, 8, 0, 0);
	for (int sig = 1; sig <= 64; sig++)
		if ((SYNCHRONOUS | BIT(SIGNALS_REMINDER) | heard) & BIT(sig) &&
		    lower.upper.sigactions[sig].handler == ignored.handler)
			set_or_get(sig, &ignored, NULL);
	signals_give_back();
}

void signals_install(bool mask_known)
{
	struct thread *self = thread_self();
	if (!mask_known)
		raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&self->upper.sigmask, 8, 0, 0);
	signals_sync_kernel(self);
	for (int sig = 1; sig <= 64; sig++)
		if (!((BIT(32) | BIT(33) | JOB_CONTROL) & BIT(sig))) /* these only when the program asks for them */
			signals_install_one(sig);
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&self->kernel_mask, 0, 8, 0, 0);
}

void signals_clear_handlers(void)
{
	for (int sig = 1; sig <= 64; sig++) {
		const bool ignored = lower.upper.sigactions[sig].handler == (uint64_t)SIG_IGN;
		lower.upper.sigactions[sig] = (struct upper_sigaction){
			.handler = (uint64_t)(ignored ? SIG_IGN : SIG_DFL)};
		if (sig != 32 && sig != 33)
			signals_install_one(sig);
	}
	signals_reclaim();
}

void signals_install_restored(void)
{
	sigset_t none;
	for (const struct thread *t = threads_first(); t; t = t->next)
		signals_hear(t->upper.sigmask);
	for (int sig = 1; sig <= 64; sig++)
		if ((sig != 32 && sig != 33) || signals_has_handler(sig))
			signals_install_one(sig);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	thread_self()->kernel_mask = 0;
	signals_sync_kernel(thread_self());
}

/* Signals of the process that it has not taken become the other threads'; none may find its carrier any more. */
void signals_thread_gone(struct thread *t)
{
	const uint64_t all = ~0ul;
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, 8, 0, 0);
	baton_gone(t);
	if (t->patience_made)
		raw_syscall(SYS_timer_delete, t->patience, 0, 0, 0, 0, 0);
	siginfo_t info;
	for (int sig = 1; sig <= 64; sig++)
		while (signal_left(t, sig, &info)) {
			struct thread *to = recipient(sig, t);
			signal_keep(sig, &info, to);
			if (to)
				signals_remind(to);
		}
}

/* ---- delivery ---- */

bool signals_deliver(int sig, siginfo_t *info, ucontext_t *uc)
{
	/* the frame is part of the event's effect: hashes and the agent see it */
	if (!handled(sig, info, uc))
		return false;
	event_answered(uc);
	return true;
}

void signals_want_delivery(ucontext_t *uc)
{
	struct thread *self = thread_self();
	siginfo_t info;
	int sig;
	if (lower.mode->signals) {
		lower.mode->signals(uc);
		return;
	}
	/* a thread that a restart found in a call is to be interrupted there, not on the way back to it */
	if (!signal_due(self) || self->waited_ns)
		return;
	if (!uc) {
		boundary_deliver_on_return();
		return;
	}
	/* signal(7), "Execution of signal handlers": all frames are made before the first handler runs */
	while (signal_take(~self->upper.sigmask, &info, &sig)) {
		if (!signals_has_handler(sig)) {
			/* it was blocked when it came, or its thread was busy: it is ignored, or ends the process */
			if (kills(sig))
				end_by(sig, true);
			continue;
		}
		struct event *ev = event_begin(LOG_SIGNAL, (uint32_t)sig, (const uint64_t *)&info, 10);
		event_end(ev);
		if (!signals_deliver(sig, &info, uc))
			no_frame(&info, uc);
	}
	end_patience(self);
}
