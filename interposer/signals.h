/* Signals of the upper half. */
#ifndef RDB_SIGNALS_H
#define RDB_SIGNALS_H
#include "lower.h"

/* SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP: a trapped rdtsc, the program's own handler, or its death. */
void signals_fault(int sig, siginfo_t *info, ucontext_t *uc);
/* After every answered event: delivers what is pending (record) or recorded next (replay).  uc NULL: a
 * hypercall; delivery then happens by a trap at the first upper instruction. */
void signals_want_delivery(ucontext_t *uc);

/* Carries out a system call that may block: an arriving signal that the program wants interrupts it, also
 * one that arrives just before.  Result, -errno, or SIGNALS_RESTART: the program makes the call again after
 * its handler (SA_RESTART, signal(7)). */
enum { SIGNALS_RESTART = -512 };
long signals_syscall(long nr, const uint64_t args[6]);
/* Before rt_sigsuspend is answered, in every mode: its mask is in force until a handler has run. */
void signals_suspend(uint64_t mask);

/* The system calls about signals: result or -errno. */
long signals_sigaction(int sig, const void *act, void *old, size_t size);
long signals_sigprocmask(int how, const void *set, void *old, size_t size);
long signals_sigaltstack(const stack_t *ss, stack_t *old, ucontext_t *uc);
void signals_sigreturn(ucontext_t *uc);
/* In a child after fork: what was pending for the parent is not for it. */
void signals_forget(void);
/* Before an exec, with all signals blocked: what waits here for delivery waits in the kernel instead. */
void signals_give_back(void);
/* Recording and pass modes: makes the kernel's dispositions those of the upper half's table; then all
 * signals are heard. mask_known: the upper half's mask has been set, it is not what was inherited. */
void signals_install(bool mask_known);

#endif
