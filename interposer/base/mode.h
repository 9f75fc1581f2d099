/* What a process of rdb-exec does: record, pass, coordinate, replay for --verify, make payloads again, be a replica, restart.
 * One constant table says all of it, so it may be asked wherever a signal comes; mode_switch() is all that changes it.
 * It is here at the bottom, and its functions are above: so those below reach them. */
#ifndef RDB_MODE_H
#define RDB_MODE_H
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "log/log_format.h"

struct event;
struct gate_frame;
struct rdb_host;

struct mode {
	bool records;     /* the world answers, the log listens */
	bool passes;      /* the world answers, nothing is logged (--record=off, or the disk is full) */
	bool coordinates; /* nothing is logged, but there are checkpoints (restart/coordinated.h) */
	bool replays;     /* the log answers */
	bool serves;      /* and the agent stops us; if not: hashes are compared */
	bool expands;     /* and payloads of messages are made again (replay/expand.h) */
	bool restarts;    /* and the program goes on live at the cut (restart/live.h) */

	/* ---- NULL: there is nothing to do ---- */

	/* An event begins, or its memory is looked at or written to without one. */
	void (*asked)(void);
	/* The world is about to answer this system call. */
	void (*before_syscall)(const struct event *ev);
	/* It is answered, by the world or the log. */
	void (*after_syscall)(const struct event *ev);
	/* An event is over; uc: the context after it; NULL (a call through the gate): it is known at a trap on return. */
	void (*answered)(ucontext_t *uc);
	/* A trap in the program, expected or not, whatever it was for. */
	void (*trapped)(ucontext_t *uc);
	/* SIGTRAP, and a fault: true, it was ours. */
	bool (*trap)(siginfo_t *info, ucontext_t *uc);
	bool (*fault)(const siginfo_t *info, ucontext_t *uc);
	/* A handler is about to return to the program. */
	void (*leaves)(void);
	/* Memory of the program is mapped otherwise, or protected otherwise. */
	void (*remapped)(uint64_t start, uint64_t end);
	void (*reprotected)(uint64_t start, uint64_t end);
	/* This is a forked child now; the program ends or is replaced. */
	void (*forked)(void);
	void (*end)(enum log_end how);
	/* A plug-in is about to be loaded. */
	void (*offer)(struct rdb_host *host);

	/* ---- where the log answers, all of them ---- */

	/* Before anything else happens: is what the program hands out what was recorded? */
	void (*question)(struct event *ev, ucontext_t *uc);
	/* Checks that it is the same question, applies the answer, sets ev->result.  At the end of the recording a replica
	 * never comes back. */
	void (*answer)(struct event *ev, ucontext_t *uc);
	/* All of a call through the gate. */
	void (*call)(struct event *ev, struct gate_frame *frame);
	/* The record of the event that is being answered, and of the next one (NULL: there is none). */
	const struct log_record *(*record)(void);
	const struct log_record *(*next)(void);
	/* Signals that come next; uc as in answered(). */
	void (*signals)(ucontext_t *uc);
	/* Another thread goes on. */
	void (*switched)(void);
	/* The recording is over; the program dies of a fault; it exits. */
	void (*ended)(ucontext_t *uc);
	void (*killed)(int sig, siginfo_t *info, ucontext_t *uc);
	void (*exits)(int code, ucontext_t *uc);
	/* The program did something that the recording does not have: says so and stops. */
	void (*diverged)(ucontext_t *uc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
	/* The recording is not what was written: likewise. */
	void (*damaged)(const char *what) __attribute__((noreturn));

	/* ---- of a replica, all of them: it stops for good ---- */

	void (*at_end)(ucontext_t *uc, uint32_t end_kind, int32_t end_value);
	void (*at_divergence)(ucontext_t *uc, const char *text);
	void (*at_fault)(int sig, siginfo_t *info, ucontext_t *uc);

	/* ---- of a restart, all of them ---- */

	/* The log is about to answer this, with `rec` if that is its record. */
	void (*taking)(enum log_kind kind, uint32_t nr, const struct log_record *rec);
	/* A thread of several has ended. */
	void (*thread_ended)(void);
	/* It cannot be. */
	void (*refuse)(const char *why) __attribute__((noreturn));
	/* This signal is delivered. */
	void (*delivered)(int sig, const siginfo_t *info);
	/* The cut is here, before this system call (NULL: before the first instruction of a thread): the program is live. */
	bool (*cut)(ucontext_t *uc, uint32_t nr, const uint64_t *args);

	/* ---- checkpoints on demand ---- */

	/* The program asks for one; a signal does, or a timer. */
	void (*wanted)(void);
	void (*told)(bool by_timer);

	/* ---- coordinated, all of them ---- */

	/* Is one wanted?  Then stays here until it is taken, if it can be (coordinated.h). */
	bool (*due)(void);
	bool (*hold)(const ucontext_t *uc, bool (*complete)(void *), void *arg);
	/* In a call of a library that may wait for other ranks, or not any more. */
	void (*away)(bool away);
};

/* Each in the folder that is above all it uses. */
extern const struct mode mode_record, mode_pass, mode_coordinated, mode_verify, mode_expand, mode_replica, mode_restart;

#endif
