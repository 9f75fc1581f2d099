/* Signals of the upper half. */
#ifndef RDB_SIGNALS_H
#define RDB_SIGNALS_H
#include "base/lower.h"

/* SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP: a trapped rdtsc, the program's own handler, or its death. */
void signals_fault(int sig, siginfo_t *info, ucontext_t *uc);
/* Handles all that somebody sends: nothing that the program's own instructions raise. */
void signals_async(int sig, siginfo_t *info, void *ctx);
/* After every answered event: delivers what is pending (record) or recorded next (replay).  uc NULL: a
 * hypercall; delivery then happens by a trap at the first upper instruction. */
void signals_want_delivery(ucontext_t *uc);

/* This one, whose event is over: its handler runs next.  False: there is no room for its frame. */
bool signals_deliver(int sig, siginfo_t *info, ucontext_t *uc);

/* Carries out a system call that may block: an arriving signal that the program wants interrupts it, also
 * one that arrives just before.  Result, -errno, or SIGNALS_RESTART: the program makes the call again after
 * its handler (SA_RESTART, signal(7)). */
enum { SIGNALS_RESTART = -512 };
long signals_syscall(long nr, const uint64_t args[6]);
/* The same by way of another call: `shown` is the one that the program makes. */
long signals_syscall_as(long shown, long nr, const uint64_t args[6]);
/* Before a call under way is held for a checkpoint without a log: since when it waits for a socket that has a time-out. */
struct thread;
void signals_hold(struct thread *self);
/* rt_sigsuspend, ppoll and their kin, before they are answered, in every mode: their mask is in force until a
 * handler has run, or they return. */
void signals_suspend(uint64_t mask);
void signals_resume(void);
bool signals_has_handler(int sig);
/* The lower libc has made a thread, and may have taken a signal for itself that is the upper one's. */
void signals_reclaim(void);
/* A timer of the program's sends it, with SIGEV_THREAD_ID to one thread; libc's SIGEV_THREAD has a thread that waits for
 * one of libc's own, which nobody handles. */
void signals_of_timer(const struct sigevent *how);

/* The signal by which a thread is made to look at what is new: its slice is over, a signal is for it. */
#define SIGNALS_REMINDER 64
/* What it carries.  No address: one that is on its way at an execve reaches the next program's rdb-exec, which has to know it. */
#define SIGNALS_OWN 0x7264622d7475726eul
/* The same signal with this value: all are to come to rest (halt.c). */
#define SIGNALS_REST 0x7264622d72657374ul
/* And with this one, from outside: a checkpoint is asked for (rdb/coordinate/request.py). */
#define SIGNALS_CHECKPOINT 0x7264622d636b7074ul
struct thread;
void signals_remind(struct thread *t);
void signals_thread_gone(struct thread *t);
/* The carrier's mask in the kernel (signalfd). */
void signals_sync_kernel(struct thread *self);

/* The system calls about signals: result or -errno. */
long signals_sigaction(int sig, uint64_t act, uint64_t old, size_t size);
long signals_sigprocmask(int how, uint64_t set, uint64_t old, size_t size);
long signals_sigaltstack(uint64_t asked, uint64_t old, ucontext_t *uc);
void signals_sigreturn(ucontext_t *uc);
uint64_t signals_pending(void);
void signals_by_descriptor(uint64_t set);
uint64_t signals_read_by_descriptor(void);
long signals_timedwait(uint64_t set, uint64_t info, uint64_t timeout, size_t size);
/* In a child after fork: what was pending for the parent is not for it. */
void signals_forget(void);
/* Before an exec, with all signals blocked: what waits here for delivery waits in the kernel instead. */
void signals_give_back(void);
/* Recording and pass modes: makes the kernel's dispositions those of the upper half's table; then all
 * signals are heard. mask_known: the upper half's mask has been set, it is not what was inherited. */
void signals_install(bool mask_known);
void signals_install_one(int sig);
/* A program that was replayed goes on live: its own table holds, not what this process inherited. */
void signals_install_restored(void);

#endif
