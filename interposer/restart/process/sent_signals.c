#include "restart/process/sent_signals.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/base/open_table.h"
#include "task/queued_to.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/thread.h"

#define STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU)) /* not kept: they stop the process at once */

enum { SENT = 4096, FIRST_REAL_TIME = 32 };

struct sent {
	int32_t sig;
	uint32_t thread; /* 0: any */
	siginfo_t info;
};

static struct {
	bool begun;
	unsigned n;
	struct sent list[SENT]; /* the oldest first */
} sent;

/* Some signals may have been on the way when a branch, or a program after another one of its process, began. */
static void begin(void)
{
	if (sent.begun)
		return;
	sent.begun = true;
	sent.n = (unsigned)(branch_file_load("signals", sent.list, sizeof(sent.list), sizeof(sent.list[0])) /
			    sizeof(sent.list[0]));
}

static bool ignored(int sig)
{
	const uint64_t h = lower.upper.sigactions[sig].handler;
	return h == (uint64_t)SIG_IGN || (h == (uint64_t)SIG_DFL && ((IGNORED_BY_DEFAULT | STOPS) & BIT(sig)));
}

/* A blocked signal waits even if it is ignored (kernel/signal.c, sig_ignored). */
static bool waits(int sig, uint32_t thread)
{
	const struct thread *t = thread ? threads_find(thread) : threads_first();
	return t && (!ignored(sig) || t->upper.sigmask & BIT(sig));
}

static void remove_at(unsigned i)
{
	sent.n--;
	memmove(&sent.list[i], &sent.list[i + 1], (sent.n - i) * sizeof(sent.list[0]));
}

/* Removes what has been dropped: ignored signals that are not blocked any more, or that a call has made ignored
 * (do_sigaction). */
static void drop(int made_ignored)
{
	for (unsigned i = sent.n; i-- > 0;)
		if (sent.list[i].sig == made_ignored || !waits(sent.list[i].sig, sent.list[i].thread))
			remove_at(i);
}

static void add(int sig, uint32_t thread, const siginfo_t *info)
{
	if (sig < 1 || sig > 64 || !waits(sig, thread))
		return;
	for (unsigned i = 0; i < sent.n && sig < FIRST_REAL_TIME; i++)
		if (sent.list[i].sig == sig && sent.list[i].thread == thread)
			return; /* of these signals only one is kept */
	if (sent.n == SENT)
		live_refuse("more than %d signals that it sent to itself are pending", SENT);
	sent.list[sent.n++] = (struct sent){.sig = sig, .thread = thread, .info = *info};
}

static bool own_process(uint64_t pid)
{
	return (int32_t)pid == lower.upper.pid;
}

static void to_thread(uint64_t tid, int sig, const siginfo_t *info)
{
	for (const struct thread *t = threads_first(); t; t = t->next)
		if (t->upper.tid == (int32_t)tid)
			add(sig, t->upper.number, info);
}

/* Removes the first signal that the present thread can have taken. */
static void took(int sig)
{
	for (unsigned i = 0; i < sent.n; i++) {
		const struct sent *s = &sent.list[i];
		if (s->sig != sig || (s->thread && s->thread != thread_self()->upper.number))
			continue;
		remove_at(i);
		return;
	}
}

void sent_signals_delivered(int sig)
{
	begin();
	took(sig);
}

void sent_signals_syscall(const struct event *ev)
{
	const uint64_t *a = ev->args;
	siginfo_t info = {.si_code = SI_USER};
	struct signalfd_siginfo one;
	info.si_uid = getuid();
	begin();
	drop(ev->nr == SYS_rt_sigaction && a[1] && ignored((int)a[0]) ? (int)a[0] : 0);
	switch (ev->nr) {
	case SYS_kill:
		info.si_signo = (int)a[1];
		if (own_process(a[0]))
			add((int)a[1], 0, &info);
		break;
	case SYS_tkill:
	case SYS_tgkill: {
		const unsigned at = ev->nr == SYS_tgkill;
		info.si_code = SI_TKILL;
		info.si_signo = (int)a[at + 1];
		if (!at || own_process(a[0]))
			to_thread(a[at], (int)a[at + 1], &info);
		break;
	}
	case SYS_rt_sigqueueinfo:
		if (own_process(a[0]))
			add((int)a[1], 0, (const siginfo_t *)a[2]);
		break;
	case SYS_rt_tgsigqueueinfo:
		if (own_process(a[0]))
			to_thread(a[1], (int)a[2], (const siginfo_t *)a[3]);
		break;
	case SYS_rt_sigtimedwait:
		if (ev->result > 0)
			took((int)ev->result);
		break;
	default:
		for (unsigned i = 0; signalfd_got(ev, i, &one); i++)
			took((int)one.ssi_signo);
		break;
	}
}

void sent_signals_left(void)
{
	struct kept_signal one;
	/* a reminder of the program before is rdb's (SIGNALS_OWN) */
	while (sent.n < SENT && kept_signal_from_kernel(~BIT(SIGNALS_REMINDER), &one))
		sent.list[sent.n++] = (struct sent){.sig = one.info.si_signo,
						    .thread = one.thread == SIGNAL_FOR_ANY ? 0 : one.thread,
						    .info = one.info};
	for (unsigned i = 0; i < sent.n; i++) {
		const struct sent *s = &sent.list[i];
		kept_signal_to_kernel(
			&(struct kept_signal){.thread = s->thread ? s->thread : SIGNAL_FOR_ANY, .info = s->info});
	}
	if (sent.n)
		recording_file_save("signals", sent.list, sent.n * sizeof(sent.list[0]));
}

void sent_signals_save(void)
{
	begin();
	if (sent.n)
		branch_file_save("signals", sent.list, sent.n * sizeof(sent.list[0]));
}

void sent_signals_restore(void)
{
	for (unsigned i = 0; i < sent.n; i++) {
		struct sent *s = &sent.list[i];
		struct thread *t = s->thread ? threads_find(s->thread) : NULL;
		if (s->info.si_code <= 0 && !s->info.si_pid)
			s->info.si_pid = lower.upper.pid;
		if (t)
			queued_to_mark(&s->info);
		if (waits(s->sig, s->thread))
			signal_keep(s->sig, &s->info, t);
	}
	signal_to_kernel(signals_wait_in_kernel() & thread_self()->upper.sigmask);
}
