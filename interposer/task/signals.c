#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "task/baton.h"
#include "crossing/boundary.h"
#include "crossing/source.h"
#include "task/computation.h"
#include "text/hot_stubs.h"
#include "text/tsc_sites.h"
#include "space/ends.h"
#include "base/pids.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/halt.h"
#include "text/spin_sites.h"
#include "task/thread.h"

#define STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

/* So long may a signal wait for an event; then it is delivered in the middle of the computation. */
enum { PATIENCE_MS = 5 };

extern const char interruptible_begin[], interruptible_call[], interruptible_abort[]; /* gate.S */

static uint64_t of_timers; /* timers send them to one thread; those that libc keeps come without a handler */

/* ---- dying ---- */

static void die(int sig)
{
	struct sigaction sa = {.sa_handler = SIG_DFL};
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigaction(sig, &sa, NULL);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raw_syscall(234 /* tgkill */, lower.pid, raw_syscall(186 /* gettid */, 0, 0, 0, 0, 0, 0), sig, 0, 0, 0);
}

bool signals_has_handler(int sig)
{
	uint64_t h = lower.upper.sigactions[sig].handler;
	return h != (uint64_t)SIG_DFL && h != (uint64_t)SIG_IGN;
}

/* The program's handler runs next.  Where its frame cannot be written the kernel raises SIGSEGV instead, which kills if it is
 * that already (kernel/signal.c, force_sigsegv). */
static bool handled(int sig, const siginfo_t *info, ucontext_t *uc)
{
	const siginfo_t instead = {.si_signo = SIGSEGV, .si_code = SI_KERNEL};
	if (lower.mode->asked)
		lower.mode->asked(); /* opens the pages that it has closed */
	if (signal_frame_push(sig, info, uc))
		return true;
	UC_REG(uc, TRAPNO) = UC_REG(uc, ERR) = 0; /* no instruction's */
	return sig != SIGSEGV && signals_has_handler(SIGSEGV) && !(thread_self()->upper.sigmask & BIT(SIGSEGV)) &&
	       signal_frame_push(SIGSEGV, &instead, uc);
}

/* By a SIGSEGV where the program stands: not by one that its instruction raises again. */
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

void signals_fault(int sig, siginfo_t *info, ucontext_t *uc)
{
	uint64_t pc = UC_REG(uc, RIP);
	if (source->asks(sig, info, uc))
		return;
	if (RDB_IS_UPPER(pc) && signals_has_handler(sig) && !(thread_self()->upper.sigmask & BIT(sig))) {
		if (!handled(sig, info, uc))
			no_frame(info, uc);
		return;
	}
	if (replaying()) {
		if (RDB_IS_UPPER(pc))
			lower.mode->killed(sig, info, uc);
		else
			rdb_fatal("signal %d in rdb itself at %#lx, address %p", sig, (unsigned long)pc, info->si_addr);
		return;
	}
	if (RDB_IS_UPPER(pc))
		boundary_final_hash();
	boundary_end(LOG_END_SIGNAL, sig, NULL);
	/* back to the instruction, which now kills us: the core is the program's */
	struct sigaction sa = {.sa_handler = SIG_DFL};
	sigaction(sig, &sa, NULL);
	int prot;
	if (info->si_code <= 0 || sig == SIGTRAP || (sig == SIGBUS && ends_at((uint64_t)info->si_addr, &prot)))
		die(sig); /* it would not raise the same again */
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

/* Makes the thread look at what is pending: its handler of this signal is on_reminder.  One on its way is enough:
 * those of a thread that does not get to run would queue up, and stop it again and again later. */
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

/* Once for all that come meanwhile: a later one must not put off the first.  By the kernel itself, since libc may be
 * in the middle of something. */
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

/* The last of them has been delivered. */
static void end_patience(struct thread *self)
{
	if (!self->patient || signal_due(self))
		return;
	set_patience(self, 0);
	self->patient = false;
	if (signal_due(self)) /* it came just now */
		start_patience(self);
}

/* Nothing is recorded: wherever the program stands, but where no unwinder knows the way. */
static void deliver_here(ucontext_t *uc)
{
	tsc_stub_leave(uc);
	if (!hot_stubs_leading(uc) && !tsc_stubs_inside(UC_REG(uc, RIP)))
		signals_want_delivery(uc);
}

/* The default for it is to end the process (signal(7)). */
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

/* The slice is over, or a signal has waited for long. */
static void on_reminder(struct thread *self, ucontext_t *uc)
{
	uint64_t pc = UC_REG(uc, RIP);
	const int killer = killer_due(self);
	if (killer && !ending_busy())
		end_by(killer, false);
	__atomic_store_n(&self->reminded, 0, __ATOMIC_SEQ_CST);
	self->yield = true;
	self->patient = false;
	if (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call)
		UC_REG(uc, RIP) = (uint64_t)interruptible_abort;
	else if (RDB_IS_UPPER(pc) && passing())
		deliver_here(uc);
	else if (RDB_IS_UPPER(pc) && recording() && lower.started)
		computation_stopped(uc, signal_due(self));
	/* on the way out of an event nobody looks any more, and not every place can be told from all others */
	if (signal_due(self))
		start_patience(self);
}

/* Others wait for the baton: does it do anything but wait itself? */
static void on_look(struct thread *self, ucontext_t *uc)
{
	if (!recording() || !lower.started)
		return;
	if (RDB_IS_UPPER(UC_REG(uc, RIP)) && !self->trap_in_flight)
		computation_looked_at(uc, false);
	else
		self->look_missed = baton_held();
	baton_looked();
}

/* Wherever the program stands, if nothing of it is in the middle of something. */
static void on_checkpoint(struct thread *self, ucontext_t *uc)
{
	uint64_t pc = UC_REG(uc, RIP);
	lower.checkpoint_waits |= lower.mode->due && lower.mode->due();
	if (!lower.checkpoint_waits)
		return;
	bool gate = (pc & ~(RDB_PAGE - 1)) == RDB_GATE_CODE || hot_stubs_leading(uc) || self->trap_in_flight;
	bool called = (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call) ||
		      (pc == (uint64_t)interruptible_call + 2 && UC_REG(uc, RAX) == (uint64_t)-EINTR);
	if (RDB_IS_UPPER(pc) && !gate && !self->depth) {
		lower.mode->hold(uc, NULL, NULL);
		deliver_here(uc); /* what has come meanwhile */
	} else if (called && self->uc && !self->frame) {
		signals_hold(self);
		lower.mode->hold(NULL, NULL, NULL);
	}
}

/* kernel/signal.c, complete_signal: the thread it came to if that wants it, else any other that does. */
static struct thread *recipient(int sig, struct thread *self)
{
	if (!(self->upper.sigmask & BIT(sig)))
		return self;
	for (struct thread *t = threads_first(); t; t = t->next)
		if (t->awaited & BIT(sig))
			return t;
	for (struct thread *t = threads_first(); t; t = t->next)
		if (!(t->upper.sigmask & BIT(sig)))
			return t;
	return NULL;
}

static void arrived(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct thread *self = thread_self();
	uint64_t pc = UC_REG(uc, RIP);
	self->interrupted = true;
	if (RDB_IS_UPPER(pc) && spin_sites_count) {
		spin_sites_leave(uc);
		pc = UC_REG(uc, RIP);
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
	bool for_one = info->si_code == SI_TKILL || (info->si_code == SI_TIMER && (of_timers & BIT(sig)));
	struct thread *to = for_one ? self : recipient(sig, self);
	bool blocked = !to || (to->upper.sigmask & BIT(sig));
	if (lower.upper.sigactions[sig].handler == (uint64_t)SIG_IGN)
		return; /* one that the kernel lets us hear all the same, since it may be a fault of the program's */
	if (!blocked && kills(sig) && !ending_busy()) {
		const struct event *ev = event_current();
		/* sent by itself: kill, tkill, tgkill */
		bool own_doing = ev && ev->kind == LOG_SYSCALL &&
				 (ev->nr == SYS_kill || ev->nr == SYS_tkill || ev->nr == SYS_tgkill) &&
				 info->si_pid == lower.pid;
		if (own_doing)
			boundary_final_hash();
		end_by(sig, own_doing);
	}
	pids_signal(info);
	signal_keep(sig, info, to);
	if (to && to != self)
		signals_remind(to);
	else if (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call)
		UC_REG(uc, RIP) = (uint64_t)interruptible_abort;
	else if (RDB_IS_UPPER(pc) && !blocked && passing())
		deliver_here(uc);
	/* also in the lower half: the event that has been answered may have looked for signals already */
	if (to == self && !blocked && signal_due(self))
		start_patience(self);
}

void signals_async(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	struct thread *self = thread_self();
	bool upper = RDB_IS_UPPER(UC_REG(uc, RIP));
	uint64_t fs = __builtin_ia32_rdfsbase64();
	__builtin_ia32_wrfsbase64(self->gate.lower_fs);
	if (upper)
		self->upper.fs_base = fs;
	arrived(sig, info, uc);
	__builtin_ia32_wrfsbase64(upper ? self->upper.fs_base : fs);
}

/* ---- dispositions ---- */

/* Signals that libc keeps for itself, and sigaction(3) refuses: the upper half's libc does cancel threads and
 * change user ids with them, the lower half's never.  The kernel's form of a handler is that of another one. */
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
	uint64_t h = lower.upper.sigactions[sig].handler;
	if (sig == SIGNALS_REMINDER)
		; /* ours as well as the program's */
	else if (h == (uint64_t)SIG_IGN)
		sa = (struct sigaction){.sa_handler = SIG_IGN};
	else if (h == (uint64_t)SIG_DFL && ((IGNORED_BY_DEFAULT | STOPS) & BIT(sig)))
		sa = (struct sigaction){.sa_handler = SIG_DFL};
	sigaction(sig, &sa, NULL);
}

void signals_install(bool mask_known)
{
	sigset_t none, inherited;
	for (int sig = 1; sig <= 64; sig++) {
		struct sigaction old;
		if (sig == 32 || sig == 33)
			continue; /* until the program asks for them */
		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			lower.upper.sigactions[sig].handler = (uint64_t)SIG_IGN; /* inherited over exec */
		signals_install_one(sig);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &inherited);
	if (!mask_known)
		memcpy(&thread_self()->upper.sigmask, &inherited, sizeof(uint64_t));
}

void signals_install_restored(void)
{
	sigset_t none;
	for (int sig = 1; sig <= 64; sig++)
		if ((sig != 32 && sig != 33) || signals_has_handler(sig))
			signals_install_one(sig);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	thread_self()->kernel_mask = 0;
	signals_sync_kernel(thread_self());
}

/* Its signals are for the others; none may find its carrier any more. */
void signals_thread_gone(struct thread *t)
{
	const uint64_t all = ~0ul;
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, 8, 0, 0);
	baton_gone(t);
	if (t->patience_made)
		raw_syscall(SYS_timer_delete, t->patience, 0, 0, 0, 0, 0);
	for (int sig = 1; sig <= 64; sig++)
		if (t->pending & BIT(sig))
			signal_keep(sig, &t->info[sig], NULL);
}

/* ---- delivery ---- */

bool signals_deliver(int sig, siginfo_t *info, ucontext_t *uc)
{
	/* the frame is part of what the event did: hashes and the agent see it */
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
	if (!signal_due(self))
		return;
	if (!uc) {
		boundary_deliver_on_return();
		return;
	}
	if (!signal_take(~self->upper.sigmask, &info, &sig))
		return;
	if (!signals_has_handler(sig)) {
		/* it was blocked when it came, or its thread was busy: ignored, or the end */
		if (kills(sig))
			end_by(sig, true);
		return;
	}
	struct event *ev = event_begin(LOG_SIGNAL, (uint32_t)sig, (const uint64_t *)&info, 10);
	event_end(ev);
	if (!signals_deliver(sig, &info, uc))
		no_frame(&info, uc);
	end_patience(self);
}
