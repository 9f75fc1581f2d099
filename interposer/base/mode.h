/* What a process of rdb-exec does: record, pass, coordinate, verify a replay, make payloads again, be a replica, or
 * restart.
 * The questions in lower.h (passing(), replaying() and so on) look at which functions the mode has.
 * A mode is one constant table and only mode_switch() changes it, so a signal handler may read it at any time.
 * The tables are defined in higher layers; through them this lowest layer can call up. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "interface/log_format.h"

struct event;
struct gate_frame;
struct rdb_host;

struct mode {
	bool records; /* the world answers, and the answers are logged */

	/* ---- each may be NULL: nothing to do ---- */

	/* An event begins; also called before program memory is read or written outside an event. */
	void (*asked)(void);
	/* The world is about to answer this system call. */
	void (*before_syscall)(const struct event *ev);
	/* The system call is answered, by the world or the log. */
	void (*after_syscall)(const struct event *ev);
	/* An event is over. uc: the program's context after it; NULL for a call through the gate, whose context is
	 * known only at the trap on return. */
	void (*answered)(ucontext_t *uc);
	/* Called at every trap in the program, whatever its cause. */
	void (*trapped)(ucontext_t *uc);
	/* SIGTRAP; a fault. True: it was ours and is dealt with. */
	bool (*trap)(siginfo_t *info, ucontext_t *uc);
	bool (*fault)(const siginfo_t *info, ucontext_t *uc);
	/* A fault is about to be delivered to the program's handler.  True: not now, the instruction is made again. */
	bool (*raises)(int sig, const siginfo_t *info, ucontext_t *uc);
	/* A fault has been delivered: uc stands at the beginning of the program's handler. */
	void (*handled)(ucontext_t *uc);
	/* A handler is about to return to the program. */
	void (*leaves)(void);
	/* The mapping, or the protection, of program memory has changed. */
	void (*remapped)(uint64_t start, uint64_t end);
	void (*reprotected)(uint64_t start, uint64_t end);
	/* This process is now a forked child; the program ends or is replaced by execve. */
	void (*forked)(void);
	void (*end)(enum log_end how);
	/* A plug-in is about to be loaded. */
	void (*offer)(struct rdb_host *host);

	/* ---- set in all modes in which the log answers ---- */

	/* Called first: compares what the program hands out with the recording. */
	void (*question)(struct event *ev, ucontext_t *uc);
	/* Checks that the question is the recorded one, applies the answer and sets ev->result. At the end of the
	 * recording it does not return in a replica. */
	void (*answer)(struct event *ev, ucontext_t *uc);
	/* Carries out a whole call through the gate. */
	void (*call)(struct event *ev, struct gate_frame *frame);
	/* Record of the event being answered, and of the next one (NULL: there is none). */
	const struct log_record *(*record)(void);
	const struct log_record *(*next)(void);
	/* Delivers the signals that are next in the log; uc as in answered(). */
	void (*signals)(ucontext_t *uc);
	/* Another thread continues. */
	void (*switched)(void);
	/* The recording is over; the program is killed by a fault; the program exits. */
	void (*ended)(ucontext_t *uc);
	void (*killed)(int sig, siginfo_t *info, ucontext_t *uc);
	void (*exits)(int code, ucontext_t *uc);
	/* Reports that the program does not do what was recorded, and stops. */
	void (*diverged)(ucontext_t *uc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
	/* Reports that the recording is damaged, and stops. */
	void (*damaged)(const char *what) __attribute__((noreturn));

	/* ---- set in a replica: it stops for good ---- */

	void (*at_end)(ucontext_t *uc, uint32_t end_kind, int32_t end_value);
	void (*at_divergence)(ucontext_t *uc, const char *text);
	void (*at_fault)(int sig, siginfo_t *info, ucontext_t *uc);

	/* ---- set in a restart; `taking` also where messages are delivered ---- */

	/* The log is about to answer this question; rec: its record, or NULL if the next record is another one's. */
	void (*taking)(enum log_kind kind, uint32_t nr, const struct log_record *rec);
	/* A thread has ended, and others are left. */
	void (*thread_ended)(void);
	/* The restart is impossible: reports why. */
	void (*refuse)(const char *why) __attribute__((noreturn));
	/* This signal is about to be delivered. */
	void (*delivered)(int sig, const siginfo_t *info);
	/* The cut is before this system call (NULL: before the first instruction of a thread): the program becomes live
	 * here. */
	bool (*cut)(ucontext_t *uc, uint32_t nr, const uint64_t *args);

	/* ---- checkpoints on demand ---- */

	/* A checkpoint is asked for by the program; by a signal or a timer. */
	void (*wanted)(void);
	void (*told)(bool by_timer);
	/* A safe point of a program with callbacks (include/rdb.h).  True: a checkpoint is to be taken at it. */
	bool (*point)(void);
	/* The callbacks before it have run: it is taken when this event is over.  False: one has failed. */
	void (*called)(bool whole);

	/* ---- set in coordinated mode ---- */

	/* Is a checkpoint wanted? hold() waits here until it is taken, if that is possible (coordinated.h). */
	bool (*due)(void);
	bool (*hold)(const ucontext_t *uc, bool (*complete)(void *), void *arg);
	/* The thread enters (true) or leaves (false) a library call that may wait for other ranks. */
	void (*away)(bool away);
};

/* Each is defined in a folder above all that it uses. */
extern const struct mode mode_record, mode_pass, mode_coordinated, mode_verify, mode_expand, mode_deliver, mode_replica,
	mode_restart;
