/* The frame on the program's stack under a signal handler: signal(7), sigreturn(2). */
#pragma once
#include <signal.h>
#include "base/thread.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31) /* include/uapi/linux/signal.h */
#endif

#define BIT(sig) (1ul << ((sig)-1))
#define SYNCHRONOUS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS))

/* These signals discard each other (signal(7), SIGCONT): the kernel does that. */
#define JOB_CONTROL (BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGCONT))
#define IGNORED_BY_DEFAULT (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))

/* include/linux/sched/signal.h, __on_sig_stack: does sp lie in the alternate stack?  on_sig_stack: is it in use? */
static inline bool signals_in_altstack(const struct upper_thread *u, uint64_t sp)
{
	return sp > u->sigalt_sp && sp - u->sigalt_sp <= u->sigalt_size;
}

static inline bool signals_on_altstack(const struct upper_thread *u, uint64_t sp)
{
	return !(u->sigalt_flags & SS_AUTODISARM) && signals_in_altstack(u, sp);
}

/* Makes uc enter the program's handler of sig.  False: there is no room for its frame on the stack; nothing has
 * changed. */
bool signal_frame_push(int sig, const siginfo_t *info, ucontext_t *uc);
