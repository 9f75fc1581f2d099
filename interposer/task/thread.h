/* Threads of the upper half.
 *
 * While a rank is recorded each upper thread is carried by a thread of the lower half, and they run one
 * at a time: who holds the baton (baton.h) is in upper code, the others wait for an answer of the world or
 * for the baton.  Each record of the log says whose event it is; between two records runs the thread of
 * the earlier one, so the order of the records is the order of everything.
 *
 * In a replica all of them are coroutines of one kernel thread, each with a signal stack and a lower stack
 * of its own: a thread that asks for an event while the log goes on with another one gives way to it.
 * So fork() copies them all, and no scheduler has a say.
 *
 * The GS base points to the present thread's struct: handlers find it there, and gate.S its stack.
 */
#ifndef RDB_THREAD_H
#define RDB_THREAD_H
#include "base/context.h"
#include "crossing/event.h"
#include "crossing/gate_asm.h"
#include "marks/spin.h"

/* What an image keeps of a thread besides its registers. */
struct upper_thread {
	uint32_t number; /* 1: the first; in order of creation */
	int32_t tid;
	uint64_t fs_base;
	uint64_t sigmask;        /* the program's own view */
	uint64_t suspended_mask; /* what rt_sigsuspend puts back, while `suspended` */
	uint64_t suspended;
	uint64_t sigalt_sp, sigalt_size;
	uint64_t sigalt_flags;
	uint64_t clear_child_tid;
	uint64_t robust_list, robust_len;
	char name[16]; /* prctl(2), PR_SET_NAME */
};

enum thread_state {
	THREAD_RUNS = 0,  /* in upper code, or in the lower half on its way back */
	THREAD_ASKS = 1,  /* waits for the answer to an event */
	THREAD_READY = 2, /* about to start, or stopped in a computation: goes on with a RESUME */
	THREAD_ENDS = 3,
	THREAD_MOVES = 4, /* goes on where it was, with another carrier (live_threads.h); never in an image */
};

enum { EVENTS_NESTED = 16, LOWER_STACK = 16 << 20, SIGNAL_STACK = 1 << 20 };

struct thread {
	struct gate_state gate; /* first: gate.S finds it there */
	struct upper_thread upper;
	enum thread_state state;
	ucontext_t *uc;               /* where it left upper code, if by a signal */
	uint64_t asks_at;             /* the instruction that asks, then */
	uint64_t guard_sp;            /* guarded_call(): where it goes on after a fault; 0: not in one */
	struct gate_frame *frame;     /* of the hypercall under way; NULL while a system call is answered */
	struct gate_frame *came_back; /* what its newest upcall has returned to; what that gave */
	uint64_t upcall_result;
	bool trap_in_flight;
	bool hot;     /* in a call by hot_gate: what needs the program's own registers waits for a trap on return */
	bool deliver; /* a signal is due when the trap after a hypercall comes */
	void *signal_stack;
	struct context start; /* of a thread that has not run yet */
	uint64_t start_fs;

	/* its events under way: an upcall nests */
	struct event *events;
	unsigned depth;

	/* recording */
	uint32_t turn;         /* futex, enum turn (baton.c): the baton is ours */
	int32_t carrier;       /* its number for the kernel; the program knows it as upper.tid */
	uint32_t born;         /* futex: its carrier is ready */
	uint32_t known;        /* futex: its creator has written down its tid; it may begin */
	struct thread *behind; /* in the queue for the baton */
	volatile bool yield;   /* its slice is over */
	uint32_t reminded;     /* signals_remind(): one is on its way */
	bool unmade; /* what signals_syscall() answered -EINTR was not made at all: the signal came before it */
	volatile uint64_t pending; /* signals that it is to deliver */
	uint64_t awaited;          /* sigwaitinfo(2): these as well */
	uint64_t kernel_mask;      /* of its carrier: signals.c, signals_sync_kernel() */
	siginfo_t info[65];
	int32_t patience; /* the kernel's timer_t: runs while a signal waits for the next event */
	bool patience_made;
	int32_t look;           /* baton.c: the kernel's timer_t, by which it is looked at while it holds the baton */
	bool look_made, looked; /* there is one; it runs */
	unsigned naps;          /* baton.c: so many times it waits asleep */
	bool spun;              /* it has given way where it is known to spin: no look is needed for that */
	uint64_t look_ns;
	volatile bool look_missed; /* the look found it in the lower half */
	bool long_turns;           /* its last spin was found by a long look */
	struct spin spin;          /* in the queue for the baton: what it waits for by looking */
	uint32_t asked;            /* calls that it has made */
	uint32_t waits_asked;      /* the one in which it waited for a futex last, */
	uint64_t waits_at;         /* and for which; */
	uint64_t missed_at;        /* it was woken at this one, and others had taken it meanwhile */
	unsigned traps;            /* thread_traps(): those that are in force */
	bool patient;              /* it runs */
	uint64_t leave_sp;         /* where its carrier goes on at its end */
	uint32_t still;            /* arrivals.c; a futex */
	bool locks;                /* host.c: it takes the plug-ins' lock, others may come; */
	bool away;                 /* host.c: in a plug-in, without the right to run; */
	bool handed;               /* for which it has handed on the baton */

	/* halt.c, without a recording */
	uint32_t halted;          /* at rest, until all are let go */
	uint32_t halt_told;       /* a signal that says so is on its way */
	bool (*complete)(void *); /* halted in a wait of a plug-in: it has what it waits for */
	void *complete_arg;
	bool at_trap; /* coordinated.c: it comes to rest at the trap after a hypercall */

	/* replica */
	uint64_t parked_sp;
	struct rdb_note_sent differs[2]; /* what it hands out is not what was recorded; said when its event comes */
	/* on the way to a restart, and after it; asked_ns also in signal_waits.c, by the monotonic clock */
	uint64_t asked_ns;         /* when it began to wait for the answer to what it asks, by the recording's clock */
	uint64_t socket_begun_ns;  /* the same of a call whose socket may have a time-out: signals_hold() */
	uint64_t waited_ns;        /* it makes a call again that had waited for so long; 0: it does not */
	uint64_t asked_done, done; /* the same of the bytes that the call has moved already (partial.h) */
	bool interrupted;          /* a signal has come since the call began */

	struct thread *next; /* all living threads, oldest first */
};

static inline struct thread *thread_self(void)
{
	return (struct thread *)__builtin_ia32_rdgsbase64();
}

/* The first thread, carried by the caller.  0 or -errno. */
int threads_init(void);
/* In a child after fork: only the caller is left, as thread 1. */
void threads_forked(void);
struct thread *threads_first(void);
struct thread *threads_find(uint32_t number);
static inline unsigned threads_alive(void)
{
	return lower.threads;
}
/* Room for a new thread that starts with the registers `start`, oldest last in the list.  NULL: out of memory. */
struct thread *threads_add(const struct upper_thread *u);
/* In a thread that takes its turn: text that holds an instruction that is to trap may have come while others ran. */
void thread_traps(void);
/* Out of the list; its memory is used again for another one, unless its carrier stays. */
void threads_remove(struct thread *t, bool carrier_stays);
/* All that the threads are is in upper memory and their registers: nobody is in an upcall, with frames of the
 * lower half under way, and the caller runs on from here. */
bool threads_at_rest(void);
/* Does the program know it by that number, now or from before a restart? */
bool thread_known_as(const struct thread *t, int32_t tid);
/* What the kernel calls the process, or thread, that the program knows by that number: a restarted program knows
 * numbers from before, which may be somebody else's now. */
uint64_t threads_process_now(uint64_t pid);
uint64_t threads_number_now(uint64_t tid);
/* t's stacks and events as if it had not begun: it goes on from t->start. */
void thread_unwind(struct thread *t);
/* Without a recording threads run in parallel: around what they share in the lower half. */
void threads_lock(void);
void threads_unlock(void);
/* Registers of any thread but the running one as it would be shown: uc is filled (fpregs may be NULL). */
void thread_context(const struct thread *t, ucontext_t *uc);
/* The same where an upcall has come back and the hypercall is not answered yet: before that return. */
void thread_context_after_upcall(const struct thread *t, ucontext_t *uc);

/* thread_calls.c: clone with CLONE_THREAD, carried out; in replay the log has answered it. */
struct clone_request {
	uint64_t flags, stack, parent_tid, child_tid, tls, pidfd;
};
long thread_clone(struct event *ev, const ucontext_t *uc, const struct clone_request *r);
void thread_cloned(const struct event *ev, const ucontext_t *uc, const struct clone_request *r);
/* exit(2) of one thread among several: what it does to memory, in every mode; then, after its event, the end. */
void thread_dying(void);
void thread_exit(ucontext_t *uc);
/* The start call of a new thread (gate_asm.h, GATE_START_CALL). */
void thread_started(ucontext_t *uc);

/* turns.c, replay: gives way until the next record of the log is this thread's, or there is none. */
void turns_await(ucontext_t *uc);
/* Another thread takes over for good. */
void turns_leave(ucontext_t *uc) __attribute__((noreturn));
/* Makes t start when the log comes to it: in upper code, at its start call, or (not NULL) in `entry`, which first of all
 * asks who it is. */
void turns_prepare(struct thread *t, void (*entry)(void));
struct thread *turns_arrived(void);
/* To t, not coming back to the calling thread. */
void turns_go(struct thread *t) __attribute__((noreturn));
/* The next thing to happen is not an instruction of the running thread: a signal's delivery, another thread. */
bool turns_pending(void);
/* t goes on: its RESUME event. */
void turns_resumed(ucontext_t *uc);
/* A computing thread stands at the mark of the PREEMPT record that comes next: takes it, and what follows. */
void turns_preempted(ucontext_t *uc);

#endif
