/* The frame on the program's stack under a signal handler: signal(7), sigreturn(2). */
#ifndef RDB_SIGNAL_FRAME_H
#define RDB_SIGNAL_FRAME_H
#include "base/lower.h"

#define BIT(sig) (1ul << ((sig)-1))
#define SYNCHRONOUS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS))

#define IGNORED_BY_DEFAULT (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))

/* Makes uc enter the program's handler of sig.  False: there is no room for its frame on the stack; nothing has changed. */
bool signal_frame_push(int sig, const siginfo_t *info, ucontext_t *uc);

#endif
