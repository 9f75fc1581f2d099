/* Signals of the upper half. */
#pragma once
#include "base/lower.h"

/* SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP: a trapped look at the counter, the program's own handler, or the program's
 * death. */
void signals_fault(int sig, siginfo_t *info, ucontext_t *uc);
/* Handles all signals that are sent, none that the program's own instructions raise. */
void signals_async(int sig, siginfo_t *info, void *ctx);
/* After every answered event: delivers what is pending (record) or recorded next (replay).  uc NULL: a
 * hypercall; delivery then happens by a trap at the first upper instruction. */
void signals_want_delivery(ucontext_t *uc);

/* Its event is over: makes its handler run next.  False: there is no room for the frame. */
bool signals_deliver(int sig, siginfo_t *info, ucontext_t *uc);

/* Carries out a system call that may block: an arriving signal that the program wants interrupts it, also
 * one that arrives just before.  Result, -errno, or SIGNALS_RESTART: the program makes the call again after
 * its handler (SA_RESTART, signal(7)). */
enum { SIGNALS_RESTART = -512 };
long signals_syscall(long nr, const uint64_t args[6]);
/* The same by another call: `shown` is the one that the program makes. */
long signals_syscall_as(long shown, long nr, const uint64_t args[6]);
/* Before a call under way is held for a checkpoint without a log: notes how long it has waited for a socket with a
 * time-out. */
struct thread;
void signals_hold(struct thread *self);
/* rt_sigsuspend, ppoll and similar calls, before they are answered, in every mode: their mask is in force until a
 * handler has run, or they return. */
void signals_suspend(uint64_t mask);
void signals_resume(void);
bool signals_has_handler(int sig);
/* By its disposition, or by default. */
bool signals_ignores(int sig);
/* A thread blocks these signals, or waits for them. */
void signals_hear(uint64_t set);
/* The lower libc has made a thread, and may have taken a signal for itself that is the upper libc's. */
void signals_reclaim(void);
/* A timer of the program sends this signal, with SIGEV_THREAD_ID to one thread.  libc's SIGEV_THREAD has a thread that
 * waits for a reserved signal, which nobody handles. */
void signals_of_timer(const struct sigevent *how);

/* The signal that makes a thread look at what is new: its slice is over, a signal is for it. */
#define SIGNALS_REMINDER 64
/* The value that it carries.  No address: a reminder that is on its way at an execve reaches the next program's
 * rdb-exec, which has to know it. */
#define SIGNALS_OWN 0x7264622d7475726eul
/* The same signal with this value: all threads are to come to rest (halt.c). */
#define SIGNALS_REST 0x7264622d72657374ul
/* And with this value, from outside: a checkpoint is asked for (rdb/coordinate/request.py). */
#define SIGNALS_CHECKPOINT 0x7264622d636b7074ul
/* And with this one, from another process of the rank: it has opened a file that is mapped here (file_readers.h). */
#define SIGNALS_FILES 0x7264622d66696c65ul
struct thread;
/* Was the signal sent to the thread in which it arrives, and not to the process? */
bool signals_for_one(const siginfo_t *info);
void signals_remind(struct thread *t);
void signals_thread_gone(struct thread *t);
/* Sets the carrier's mask in the kernel: blocks what the program reads by signalfd, and what waits here already. */
void signals_sync_kernel(struct thread *self);
/* In the handler that has just kept the signal: another one waits in the kernel until the program has taken this one.
 * So a timer of a microsecond does not keep us from all else. */
void signals_hold_back(struct thread *self, int sig, const siginfo_t *info, ucontext_t *uc);

/* The system calls about signals: result or -errno. */
long signals_sigaction(int sig, uint64_t act, uint64_t old, size_t size);
long signals_sigprocmask(int how, uint64_t set, uint64_t old, size_t size);
long signals_sigaltstack(uint64_t asked, uint64_t old, ucontext_t *uc);
/* Sets the alternate stack, as sigaltstack(2) does at the stack pointer sp. 0 or -errno. */
long signals_set_altstack(const stack_t *ss, uint64_t sp);
void signals_sigreturn(ucontext_t *uc);
/* The frame of sigreturn(2) cannot be read: the program gets a SIGSEGV. */
void signals_bad_frame(ucontext_t *uc);
uint64_t signals_pending(void);
/* proc(5), /proc/pid/status: what SigPnd, ShdPnd, SigBlk, SigIgn and SigCgt are for that thread of the program. */
struct signals_shown {
	uint64_t pending, shared, blocked, ignored, caught;
};
void signals_show(const struct thread *t, struct signals_shown *shown);
/* A signalfd(2) with this set was made; in a restart before the other threads run, which begin with their masks. */
void signals_by_descriptor(uint64_t set, bool others_run);
uint64_t signals_wait_in_kernel(void);
long signals_timedwait(uint64_t set, uint64_t info, uint64_t timeout, size_t size);
/* In a child after fork: drops what was pending for the parent. */
void signals_forget(void);
/* Before an exec, with all signals blocked: signals that wait here go back to wait in the kernel. */
void signals_give_back(void);
/* Before any handler of ours is set: the program ignores what this process was started with as ignored (execve(2)). */
void signals_inherit(void);
/* Just before the next program: ignores in the kernel what this program ignores; pending signals wait there,
 * blocked. */
void signals_before_exec(void);
/* Recording and pass modes: makes the kernel's dispositions those of the upper half's table; then all
 * signals are heard. mask_known: the upper half's mask has been set, it is not what was inherited. */
void signals_install(bool mask_known);
void signals_install_one(int sig);
/* clone(2), CLONE_CLEAR_SIGHAND: as at an exec, handlers are gone, what is ignored stays so. */
void signals_clear_handlers(void);
/* A program that was replayed goes on live: its own table holds, not what this process inherited. */
void signals_install_restored(void);
