#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "boundary.h"
#include "instructions.h"
#include "replay.h"
#include "signals.h"

#define BIT(sig) (1ul << ((sig)-1))
#define SYNCHRONOUS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS))
#define IGNORED_BY_DEFAULT (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))
#define STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

/* signal(7), sigreturn(2): what the kernel puts on the stack of an x86-64 handler. */
struct signal_frame {
	uint64_t restorer;
	uint64_t uc_flags, uc_link;
	stack_t uc_stack;
	uint64_t gregs[23];
	uint64_t fpstate;
	uint64_t reserved[8];
	uint64_t sigmask;
	siginfo_t info;
};

static struct {
	volatile uint64_t pending; /* arrived, not yet delivered */
	siginfo_t info[65];
	timer_t patience; /* runs while a signal waits for the next event */
	bool patience_made;
	volatile uint64_t waiting_since; /* event number then */
} signals;

#define SIG_PATIENCE SIGRTMAX
enum { PATIENCE_MS = 500 };

/* gate.S: the call, unless a signal is pending that the program has not blocked.  Between the two labels
 * nothing has happened yet: a signal that arrives there makes it -EINTR. */
long interruptible_syscall(long nr, const uint64_t args[6], const volatile uint64_t *pending, uint64_t mask);
extern const char interruptible_begin[], interruptible_call[], interruptible_abort[];

static size_t xsave_len(const ucontext_t *uc)
{
	/* struct _fpx_sw_bytes at offset 464 of the FXSAVE area (asm/sigcontext.h) */
	const uint32_t *sw = (const uint32_t *)((const uint8_t *)uc->uc_mcontext.fpregs + 464);
	return sw[0] == 0x46505853 /* FP_XSTATE_MAGIC1 */ ? sw[1] : 512;
}

static void push_frame(int sig, const siginfo_t *info, ucontext_t *uc)
{
	struct upper_state *u = &lower.upper;
	const struct upper_sigaction *sa = &u->sigactions[sig];
	uint64_t sp = UC_REG(uc, RSP) - 128;
	bool on_alt = UC_REG(uc, RSP) - u->sigalt_sp <= u->sigalt_size;
	if ((sa->flags & SA_ONSTACK) && u->sigalt_size && !(u->sigalt_flags & SS_DISABLE) && !on_alt)
		sp = u->sigalt_sp + u->sigalt_size;
	size_t fp_len = xsave_len(uc);
	sp = (sp - fp_len) & ~63ul;
	uint64_t fp = sp;
	memcpy((void *)fp, uc->uc_mcontext.fpregs, fp_len);
	/* XSTATE_BV says which parts the processor thought in use, which differs from run to run; all parts
	 * are there (XSAVE writes them), so all may be called in use (Intel SDM vol. 1, 13.4.2) */
	if (fp_len > 512)
		memcpy((void *)(fp + 512), (const uint8_t *)fp + 464 + 8, 8);
	sp = ((sp - sizeof(struct signal_frame)) & ~15ul) - 8;
	struct signal_frame *f = (void *)sp;
	memset(f, 0, sizeof(*f));
	f->restorer = sa->restorer;
	f->uc_flags = 7; /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	f->uc_stack.ss_sp = (void *)u->sigalt_sp;
	f->uc_stack.ss_size = u->sigalt_size;
	f->uc_stack.ss_flags = (int)u->sigalt_flags;
	memcpy(f->gregs, uc->uc_mcontext.gregs, sizeof(f->gregs));
	f->gregs[REG_EFL] &= ~EFLAGS_TF;
	/* The kernel leaves in them what the thread's last fault was, and that may be one of ours (rdtsc). */
	bool faulted = (BIT(sig) & SYNCHRONOUS) && info->si_code > 0;
	if (!faulted)
		f->gregs[REG_TRAPNO] = f->gregs[REG_ERR] = 0;
	if (!faulted || f->gregs[REG_TRAPNO] != 14 /* page fault */)
		f->gregs[REG_CR2] = 0;
	f->fpstate = fp;
	f->sigmask = u->suspended ? u->suspended_mask : u->sigmask;
	u->suspended = 0;
	f->info = *info;
	u->sigmask |= sa->mask | (sa->flags & SA_NODEFER ? 0 : BIT(sig));
	UC_REG(uc, RSP) = sp;
	UC_REG(uc, RIP) = sa->handler;
	UC_REG(uc, RDI) = (uint64_t)sig;
	UC_REG(uc, RSI) = (uint64_t)&f->info;
	UC_REG(uc, RDX) = (uint64_t)&f->uc_flags;
	UC_REG(uc, RAX) = 0;
	UC_REG(uc, EFL) &= ~0x10400ul; /* DF, RF */
	if (sa->flags & SA_RESETHAND)
		u->sigactions[sig].handler = (uint64_t)SIG_DFL;
}

void signals_sigreturn(ucontext_t *uc)
{
	const struct signal_frame *f = (const void *)(UC_REG(uc, RSP) - 8);
	uint64_t tf = UC_REG(uc, EFL) & EFLAGS_TF;
	memcpy(uc->uc_mcontext.gregs, f->gregs, 17 * sizeof(uint64_t)); /* R8 .. RIP */
	UC_REG(uc, EFL) = (f->gregs[REG_EFL] & 0x240dd5) | 0x202 | tf;
	if (f->fpstate) {
		/* the kernel's own bytes at 464 (sizes, magic) stay */
		size_t len = xsave_len(uc);
		memcpy(uc->uc_mcontext.fpregs, (const void *)f->fpstate, 464);
		if (len > 512)
			memcpy((uint8_t *)uc->uc_mcontext.fpregs + 512, (const uint8_t *)f->fpstate + 512, len - 512);
	}
	lower.upper.sigmask = f->sigmask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
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

static bool has_handler(int sig)
{
	uint64_t h = lower.upper.sigactions[sig].handler;
	return h != (uint64_t)SIG_DFL && h != (uint64_t)SIG_IGN;
}

void signals_fault(int sig, siginfo_t *info, ucontext_t *uc)
{
	uint64_t pc = UC_REG(uc, RIP);
	if (instructions_fault(sig, info, uc))
		return;
	if (RDB_IS_UPPER(pc) && has_handler(sig) && !(lower.upper.sigmask & BIT(sig))) {
		push_frame(sig, info, uc);
		return;
	}
	if (lower.mode == MODE_VERIFY || lower.mode == MODE_REPLICA) {
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

/* ---- asynchronous signals ---- */

static void end_by(int sig)
{
	boundary_end(LOG_END_SIGNAL, sig, NULL);
	die(sig);
}

/* A signal can be recorded at an event only.  Where none comes for long, in a computation that waits for
 * the handler, say, the program must not hang because of us. */
static void start_patience(void)
{
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIG_PATIENCE};
	struct itimerspec in = {.it_value = {.tv_nsec = PATIENCE_MS * 1000000l}};
	signals.waiting_since = lower.event;
	if (!signals.patience_made && timer_create(CLOCK_MONOTONIC, &how, &signals.patience) == 0)
		signals.patience_made = true;
	if (signals.patience_made)
		timer_settime(signals.patience, 0, &in, NULL);
}

static void lose_patience(ucontext_t *uc)
{
	uint64_t ready = signals.pending & ~lower.upper.sigmask;
	if (!ready || lower.event != signals.waiting_since || !RDB_IS_UPPER(UC_REG(uc, RIP)))
		return;
	if (lower.mode == MODE_RECORD) {
		rdb_warn(
			"signal %d came in a computation that makes no system call: it cannot be recorded there yet; the "
			"recording ends at event %lu, the program goes on",
			__builtin_ctzl(ready) + 1, (unsigned long)lower.event);
		boundary_end(LOG_END_UNSUPPORTED, 0, "a signal in a computation without system calls");
		lower.mode = MODE_PASS;
	}
	signals_want_delivery(uc);
}

static void on_async(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uint64_t fs = __builtin_ia32_rdfsbase64(), pc = UC_REG(uc, RIP);
	__builtin_ia32_wrfsbase64(lower.fs);
	if (sig == SIG_PATIENCE && info->si_code == SI_TIMER) {
		lose_patience(uc);
		__builtin_ia32_wrfsbase64(fs);
		return;
	}
	bool blocked = lower.upper.sigmask & BIT(sig);
	if (!has_handler(sig) && !blocked) {
		const struct event *ev = event_current();
		/* sent by itself: kill, tkill, tgkill */
		if (ev && ev->kind == LOG_SYSCALL && (ev->nr == 62 || ev->nr == 200 || ev->nr == 234) &&
		    info->si_pid == lower.pid)
			boundary_final_hash();
		end_by(sig);
	}
	signals.info[sig] = *info;
	__atomic_or_fetch(&signals.pending, BIT(sig), __ATOMIC_SEQ_CST);
	if (pc >= (uint64_t)interruptible_begin && pc <= (uint64_t)interruptible_call)
		UC_REG(uc, RIP) = (uint64_t)interruptible_abort;
	else if (RDB_IS_UPPER(pc) && !blocked && lower.mode == MODE_PASS)
		signals_want_delivery(uc);
	else if (RDB_IS_UPPER(pc) && !blocked)
		start_patience();
	__builtin_ia32_wrfsbase64(fs);
}

/* signal(7): calls that are never restarted */
static bool restartable(long nr)
{
	switch (nr) {
	case 7:
	case 271: /* poll, ppoll */
	case 23:
	case 270: /* select, pselect6 */
	case 232:
	case 281:
	case 441: /* epoll_wait, epoll_pwait, epoll_pwait2 */
	case 34:
	case 35:
	case 230: /* pause, nanosleep, clock_nanosleep */
	case 128:
	case 130: /* rt_sigtimedwait, rt_sigsuspend */ return false;
	default: return true;
	}
}

long signals_syscall(long nr, const uint64_t args[6])
{
	for (;;) {
		long r = interruptible_syscall(nr, args, &signals.pending, lower.upper.sigmask);
		if (r != -EINTR || nr == 3 /* close: it is closed all the same */)
			return r;
		uint64_t ready = signals.pending & ~lower.upper.sigmask;
		if (!ready)
			continue; /* none that the program would have seen */
		int sig = __builtin_ctzl(ready) + 1;
		bool restart = lower.upper.sigactions[sig].flags & SA_RESTART;
		return restart && restartable(nr) ? SIGNALS_RESTART : -EINTR;
	}
}

void signals_suspend(uint64_t mask)
{
	lower.upper.suspended_mask = lower.upper.sigmask;
	lower.upper.suspended = 1;
	lower.upper.sigmask = mask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
}

static void install(int sig)
{
	struct sigaction sa = {.sa_sigaction = on_async, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (lower.mode == MODE_VERIFY || lower.mode == MODE_REPLICA)
		return; /* in replay signals come from the log */
	if ((SYNCHRONOUS & BIT(sig)) || sig == SIGKILL || sig == SIGSTOP)
		return;
	uint64_t h = lower.upper.sigactions[sig].handler;
	if (h == (uint64_t)SIG_IGN)
		sa = (struct sigaction){.sa_handler = SIG_IGN};
	else if (sig == SIG_PATIENCE)
		; /* ours as well as the program's */
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
		memcpy(&lower.upper.sigmask, &inherited, sizeof(lower.upper.sigmask));
}

void signals_forget(void)
{
	signals.pending = 0;
	signals.patience_made = false; /* timers are not inherited: timer_create(2) */
}

void signals_give_back(void)
{
	for (int sig = 1; sig <= 64; sig++)
		if (signals.pending & BIT(sig))
			raw_syscall(297 /* rt_tgsigqueueinfo */, lower.pid,
				    raw_syscall(186 /* gettid */, 0, 0, 0, 0, 0, 0), sig, (long)&signals.info[sig], 0,
				    0);
}

static void deliver(int sig, siginfo_t *info, ucontext_t *uc)
{
	/* the frame is part of what the event did: hashes and the agent see it */
	push_frame(sig, info, uc);
	event_answered(uc);
}

void signals_want_delivery(ucontext_t *uc)
{
	siginfo_t info;
	int sig;
	if (lower.mode == MODE_VERIFY || lower.mode == MODE_REPLICA) {
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
		return;
	}
	uint64_t ready = signals.pending & ~lower.upper.sigmask;
	if (!ready)
		return;
	if (!uc) {
		boundary_deliver_on_return();
		return;
	}
	sig = __builtin_ctzl(ready) + 1;
	__atomic_and_fetch(&signals.pending, ~BIT(sig), __ATOMIC_SEQ_CST);
	if (!has_handler(sig)) {
		/* it was blocked when it came: ignored, or the end */
		if (lower.upper.sigactions[sig].handler == (uint64_t)SIG_DFL &&
		    !((IGNORED_BY_DEFAULT | STOPS) & BIT(sig)))
			end_by(sig);
		return;
	}
	info = signals.info[sig];
	struct event *ev = event_begin(LOG_SIGNAL, (uint32_t)sig, (const uint64_t *)&info, 10);
	event_end(ev);
	deliver(sig, &info, uc);
}

/* ---- system calls ---- */

long signals_sigaction(int sig, const void *act, void *old, size_t size)
{
	struct upper_sigaction *sa = &lower.upper.sigactions[sig > 0 && sig <= 64 ? sig : 0];
	if (size != 8 || sig < 1 || sig > 64 || (act && (sig == SIGKILL || sig == SIGSTOP)))
		return -EINVAL;
	struct upper_sigaction before = *sa;
	if (act) {
		memcpy(sa, act, sizeof(*sa)); /* struct kernel_sigaction: handler, flags, restorer, mask */
		install(sig);
	}
	if (old)
		memcpy(old, &before, sizeof(before));
	return 0;
}

long signals_sigprocmask(int how, const void *set, void *old, size_t size)
{
	uint64_t *mask = &lower.upper.sigmask;
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
	return 0;
}

long signals_sigaltstack(const stack_t *ss, stack_t *old, ucontext_t *uc)
{
	struct upper_state *u = &lower.upper;
	bool on_it = u->sigalt_size && UC_REG(uc, RSP) - u->sigalt_sp <= u->sigalt_size;
	stack_t before = {.ss_sp = (void *)u->sigalt_sp,
			  .ss_size = u->sigalt_size,
			  .ss_flags = u->sigalt_size ? (on_it ? SS_ONSTACK : (int)u->sigalt_flags) : SS_DISABLE};
	if (ss) {
		if (on_it)
			return -EPERM;
		if (ss->ss_flags & SS_DISABLE) {
			u->sigalt_sp = u->sigalt_size = 0;
		} else {
			if (ss->ss_size < 2048)
				return -ENOMEM;
			u->sigalt_sp = (uint64_t)ss->ss_sp;
			u->sigalt_size = ss->ss_size;
		}
		u->sigalt_flags = (uint32_t)ss->ss_flags & ~(uint32_t)SS_ONSTACK;
	}
	if (old)
		*old = before;
	return 0;
}
