#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "baton.h"
#include "boundary.h"
#include "computation.h"
#include "instructions.h"
#include "replay.h"
#include "signal_frame.h"
#include "signals.h"
#include "thread.h"

#define IGNORED_BY_DEFAULT (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))
#define STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

/* What arrived for the process while all threads blocked it; what a thread is to deliver is in the thread. */
static struct {
	volatile uint64_t pending;
	siginfo_t info[65];
	uint64_t by_descriptor; /* signalfd(2): while blocked they wait in the kernel */
} signals;

/* So long may a signal wait for an event; then it is delivered in the middle of the computation. */
enum { PATIENCE_MS = 5 };

/* gate.S: the call, unless a signal is pending that the program has not blocked.  Between the two labels
 * nothing has happened yet: a signal that arrives there makes it -EINTR. */
long interruptible_syscall(long nr, const uint64_t args[6], const volatile uint64_t *pending, uint64_t mask);
extern const char interruptible_begin[], interruptible_call[], interruptible_abort[];

static uint64_t ready(const struct thread *t)
{
	return (t->pending | signals.pending) & ~t->upper.sigmask;
}

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

void signals_fault(int sig, siginfo_t *info, ucontext_t *uc)
{
	uint64_t pc = UC_REG(uc, RIP);
	if (instructions_fault(sig, info, uc))
		return;
	if (RDB_IS_UPPER(pc) && signals_has_handler(sig) && !(thread_self()->upper.sigmask & BIT(sig))) {
		signal_frame_push(sig, info, uc);
		return;
	}
	if (replaying()) {
		if (RDB_IS_UPPER(pc))
			replay_fault(sig, info, uc);
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
	if (info->si_code <= 0 || sig == SIGTRAP)
		die(sig);
}

/* ---- arrival ---- */

static void end_by(int sig, bool own_doing)
{
	lower.killed = !own_doing;
	boundary_end(LOG_END_SIGNAL, sig, NULL);
	die(sig);
}

/* Makes the thread look at what is pending: its handler of this signal is on_reminder. */
void signals_remind(const struct thread *t)
{
	siginfo_t info = {.si_signo = SIGNALS_REMINDER, .si_code = SI_QUEUE, .si_value.sival_ptr = &signals};
	raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, t->upper.tid, SIGNALS_REMINDER, (long)&info, 0, 0);
}

/* Once for all that come meanwhile: a later one must not put off the first. */
static void start_patience(struct thread *self)
{
	if (self->patient)
		return;
	self->patient = true;
	struct sigevent how = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNALS_REMINDER, .sigev_value.sival_ptr = &signals};
	struct itimerspec in = {.it_value = {.tv_nsec = PATIENCE_MS * 1000000l}};
	how._sigev_un._tid = self->upper.tid;
	if (!self->patience_made && timer_create(CLOCK_MONOTONIC, &how, (timer_t *)&self->patience) == 0)
		self->patience_made = true;
	if (!self->patience_made || timer_settime((timer_t)self->patience, 0, &in, NULL))
		self->patient = false;
}

/* The slice is over, or a signal has waited for long. */
static void on_reminder(struct thread *self, ucontext_t *uc)
{
	uint64_t pc = UC_REG(uc, RIP);
	self->yield = true;
	self->patient = false;
	if (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call)
		UC_REG(uc, RIP) = (uint64_t)interruptible_abort;
	else if (RDB_IS_UPPER(pc) && lower.mode == MODE_PASS)
		signals_want_delivery(uc);
	else if (RDB_IS_UPPER(pc) && lower.mode == MODE_RECORD && lower.started)
		computation_stopped(uc, ready(self));
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

static void keep(int sig, const siginfo_t *info, struct thread *t)
{
	if (t)
		t->info[sig] = *info;
	else
		signals.info[sig] = *info;
	__atomic_or_fetch(t ? &t->pending : &signals.pending, BIT(sig), __ATOMIC_SEQ_CST);
}

static void arrived(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct thread *self = thread_self();
	uint64_t pc = UC_REG(uc, RIP);
	if (sig == SIGNALS_REMINDER && info->si_value.sival_ptr == &signals) {
		on_reminder(self, uc);
		return;
	}
	bool for_one = info->si_code == SI_TKILL;
	struct thread *to = for_one ? self : recipient(sig, self);
	bool blocked = !to || (to->upper.sigmask & BIT(sig));
	if (!signals_has_handler(sig) && !blocked) {
		const struct event *ev = event_current();
		/* sent by itself: kill, tkill, tgkill */
		bool own_doing = ev && ev->kind == LOG_SYSCALL &&
				 (ev->nr == SYS_kill || ev->nr == SYS_tkill || ev->nr == SYS_tgkill) &&
				 info->si_pid == lower.pid;
		if (own_doing)
			boundary_final_hash();
		end_by(sig, own_doing);
	}
	keep(sig, info, to);
	if (to && to != self)
		signals_remind(to);
	else if (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call)
		UC_REG(uc, RIP) = (uint64_t)interruptible_abort;
	else if (RDB_IS_UPPER(pc) && !blocked && lower.mode == MODE_PASS)
		signals_want_delivery(uc);
	else if ((RDB_IS_UPPER(pc) || self->fast) && !blocked)
		start_patience(self);
}

static void on_async(int sig, siginfo_t *info, void *ctx)
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

/* ---- calls that wait ---- */

/* signal(7): calls that are never restarted */
static bool restartable(long nr)
{
	switch (nr) {
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case 441: /* epoll_pwait2: newer than some headers */
	case SYS_pause:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_io_getevents: return false;
	default: return true;
	}
}

/* What the process holds and this thread wants becomes the thread's. */
static void claim(struct thread *self)
{
	uint64_t mine = signals.pending & ~self->upper.sigmask;
	while (mine) {
		int sig = __builtin_ctzl(mine) + 1;
		mine &= mine - 1;
		if (__atomic_fetch_and(&signals.pending, ~BIT(sig), __ATOMIC_SEQ_CST) & BIT(sig))
			keep(sig, &signals.info[sig], self);
	}
}

long signals_syscall_as(long shown, long nr, const uint64_t args[6])
{
	struct thread *self = thread_self();
	for (;;) {
		claim(self);
		long r = interruptible_syscall(nr, args, &self->pending, self->upper.sigmask);
		if (r != -EINTR || nr == SYS_close /* it is closed all the same */)
			return r;
		uint64_t due = ready(self);
		if (!due && self->yield && !self->gave) {
			/* it blocks, and others wait for us */
			self->yield = false;
			self->gave = baton_block_begin();
			continue;
		}
		if (!due)
			continue; /* none that the program would have seen */
		int sig = __builtin_ctzl(due) + 1;
		bool restart = lower.upper.sigactions[sig].flags & SA_RESTART;
		return restart && restartable(shown) ? SIGNALS_RESTART : -EINTR;
	}
}

long signals_syscall(long nr, const uint64_t args[6])
{
	return signals_syscall_as(nr, nr, args);
}

static bool take(uint64_t set, siginfo_t *info, int *sig)
{
	struct thread *self = thread_self();
	uint64_t due = (self->pending | signals.pending) & set;
	if (!due)
		return false;
	*sig = __builtin_ctzl(due) + 1;
	bool mine = self->pending & BIT(*sig);
	*info = mine ? self->info[*sig] : signals.info[*sig];
	__atomic_and_fetch(mine ? &self->pending : &signals.pending, ~BIT(*sig), __ATOMIC_SEQ_CST);
	return true;
}

/* sigwaitinfo(2) */
long signals_timedwait(const uint64_t *set, siginfo_t *info, const struct timespec *timeout, size_t size)
{
	struct thread *self = thread_self();
	struct timespec now, left = {0};
	uint64_t wanted = *set & ~(BIT(SIGKILL) | BIT(SIGSTOP));
	siginfo_t got;
	int sig;
	if (size != 8 || (timeout && (timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000)))
		return -EINVAL;
	clock_gettime(CLOCK_MONOTONIC, &now);
	const int64_t until = timeout ? (now.tv_sec + timeout->tv_sec) * 1000000000l + now.tv_nsec + timeout->tv_nsec
				      : 0;
	bool given = false;
	long r = 0;
	while (!r) {
		uint64_t in_kernel = wanted & signals.by_descriptor;
		if (in_kernel)
			r = raw_syscall(SYS_rt_sigtimedwait, (long)&in_kernel, (long)&got, (long)&left, 8, 0, 0);
		if (in_kernel && r > 0)
			break;
		r = 0;
		if (take(wanted, &got, &sig)) {
			r = sig;
			break;
		}
		struct timespec rest;
		if (timeout) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			int64_t ns = until - (now.tv_sec * 1000000000l + now.tv_nsec);
			if (ns <= 0) {
				r = -EAGAIN;
				break;
			}
			rest = (struct timespec){ns / 1000000000, ns % 1000000000};
		}
		if (!given)
			given = baton_block_begin();
		const uint64_t wait[6] = {0, 0, timeout ? (uint64_t)&rest : 0};
		self->awaited = wanted;
		claim(self);
		interruptible_syscall(SYS_ppoll, wait, &self->pending, self->upper.sigmask & ~wanted);
		self->awaited = 0;
		if (ready(self) & ~wanted)
			r = -EINTR;
	}
	baton_block_end(given);
	if (r > 0 && info)
		*info = got;
	return r;
}

void signals_suspend(uint64_t mask)
{
	struct thread *self = thread_self();
	struct upper_thread *u = &self->upper;
	if (!u->suspended)
		u->suspended_mask = u->sigmask;
	u->suspended = 1;
	u->sigmask = mask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
	signals_sync_kernel(self);
}

void signals_resume(void)
{
	struct thread *self = thread_self();
	if (self->upper.suspended)
		self->upper.sigmask = self->upper.suspended_mask;
	self->upper.suspended = 0;
	signals_sync_kernel(self);
}

/* ---- dispositions ---- */

static void install(int sig)
{
	struct sigaction sa = {.sa_sigaction = on_async, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (replaying())
		return; /* in replay signals come from the log */
	if ((SYNCHRONOUS & BIT(sig)) || sig == SIGKILL || sig == SIGSTOP)
		return;
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
			continue; /* the lower libc's own */
		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			lower.upper.sigactions[sig].handler = (uint64_t)SIG_IGN; /* inherited over exec */
		install(sig);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &inherited);
	if (!mask_known)
		memcpy(&thread_self()->upper.sigmask, &inherited, sizeof(uint64_t));
}

void signals_forget(void)
{
	signals.pending = 0;
}

static void give_back(volatile uint64_t *pending, siginfo_t *info)
{
	for (int sig = 1; sig <= 64; sig++)
		if (*pending & BIT(sig))
			raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), sig,
				    (long)&info[sig], 0, 0);
	*pending = 0;
}

void signals_give_back(void)
{
	give_back(&signals.pending, signals.info);
	give_back(&thread_self()->pending, thread_self()->info);
}

/* Its signals are for the others; none may find its carrier any more. */
void signals_thread_gone(struct thread *t)
{
	const uint64_t all = ~0ul;
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, 8, 0, 0);
	if (t->patience_made)
		timer_delete((timer_t)t->patience);
	for (int sig = 1; sig <= 64; sig++)
		if (t->pending & BIT(sig))
			keep(sig, &t->info[sig], NULL);
}

/* ---- delivery ---- */

static void deliver(int sig, siginfo_t *info, ucontext_t *uc)
{
	/* the frame is part of what the event did: hashes and the agent see it */
	signal_frame_push(sig, info, uc);
	event_answered(uc);
}

static void replay_delivery(ucontext_t *uc)
{
	siginfo_t info;
	int sig;
	if (!lower.started)
		return;
	if (!uc) {
		/* which record comes next decides; taken when the trap arrives */
		if (replay_signal_next())
			boundary_deliver_on_return();
		return;
	}
	while (replay_take_signal(&sig, &info))
		deliver(sig, &info, uc);
}

void signals_want_delivery(ucontext_t *uc)
{
	struct thread *self = thread_self();
	siginfo_t info;
	int sig;
	if (replaying()) {
		replay_delivery(uc);
		return;
	}
	if (!ready(self))
		return;
	if (!uc) {
		boundary_deliver_on_return();
		return;
	}
	if (!take(~self->upper.sigmask, &info, &sig))
		return;
	if (!signals_has_handler(sig)) {
		/* it was blocked when it came: ignored, or the end */
		if (lower.upper.sigactions[sig].handler == (uint64_t)SIG_DFL &&
		    !((IGNORED_BY_DEFAULT | STOPS) & BIT(sig)))
			end_by(sig, true);
		return;
	}
	struct event *ev = event_begin(LOG_SIGNAL, (uint32_t)sig, (const uint64_t *)&info, 10);
	event_end(ev);
	deliver(sig, &info, uc);
}

/* ---- system calls ---- */

static bool ignored(int sig)
{
	uint64_t h = lower.upper.sigactions[sig].handler;
	return h == (uint64_t)SIG_IGN || (h == (uint64_t)SIG_DFL && (IGNORED_BY_DEFAULT & BIT(sig)));
}

/* sigaction(2), "Notes" of POSIX: what is pending and ignored from now on is gone. */
static void discard(int sig)
{
	__atomic_and_fetch(&signals.pending, ~BIT(sig), __ATOMIC_SEQ_CST);
	for (struct thread *t = threads_first(); t; t = t->next)
		__atomic_and_fetch(&t->pending, ~BIT(sig), __ATOMIC_SEQ_CST);
}

long signals_sigaction(int sig, const void *act, void *old, size_t size)
{
	struct upper_sigaction *sa = &lower.upper.sigactions[sig > 0 && sig <= 64 ? sig : 0];
	if (size != 8 || sig < 1 || sig > 64 || (act && (sig == SIGKILL || sig == SIGSTOP)))
		return -EINVAL;
	struct upper_sigaction before = *sa;
	if (act) {
		memcpy(sa, act, sizeof(*sa)); /* struct kernel_sigaction: handler, flags, restorer, mask */
		if (ignored(sig))
			discard(sig);
		install(sig);
	}
	if (old)
		memcpy(old, &before, sizeof(before));
	return 0;
}

long signals_sigprocmask(int how, const void *set, void *old, size_t size)
{
	struct thread *self = thread_self();
	uint64_t *mask = &self->upper.sigmask;
	uint64_t before = *mask, arg;
	if (size != 8)
		return -EINVAL;
	if (set) {
		memcpy(&arg, set, 8);
		arg &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
		if (how == SIG_BLOCK)
			*mask |= arg;
		else if (how == SIG_UNBLOCK)
			*mask &= ~arg;
		else if (how == SIG_SETMASK)
			*mask = arg;
		else
			return -EINVAL;
	}
	if (old)
		memcpy(old, &before, 8);
	signals_sync_kernel(self);
	return 0;
}

uint64_t signals_pending(void)
{
	const struct thread *self = thread_self();
	return (self->pending | signals.pending) & self->upper.sigmask;
}

/* signalfd(2) reads what waits in the kernel: signals that the program blocks and reads so are blocked there
 * too.  Others never are. */
void signals_sync_kernel(struct thread *self)
{
	uint64_t want = signals.by_descriptor & self->upper.sigmask;
	if (want == self->kernel_mask || replaying())
		return;
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&want, 0, 8, 0, 0);
	self->kernel_mask = want;
}

void signals_by_descriptor(uint64_t set)
{
	struct thread *self = thread_self();
	signals.by_descriptor |= set & ~(SYNCHRONOUS | BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGNALS_REMINDER));
	signals_sync_kernel(self);
	for (int sig = 1; sig <= 64; sig++)
		if (__atomic_fetch_and(&signals.pending, ~(BIT(sig) & set), __ATOMIC_SEQ_CST) & BIT(sig) & set)
			raw_syscall(SYS_rt_sigqueueinfo, lower.pid, sig, (long)&signals.info[sig], 0, 0, 0);
}
