/* A thread of the upper half while it lives: what the lower half keeps for it, shared by all layers (task/thread.h).
 *
 * In the GS base is the address of the running thread's struct. Handlers find it there, and gate.S finds its stack.
 */
#pragma once
#include "arch/context.h"
#include "arch/gate_frame.h"
#include "arch/thread_pointer.h"
#include "base/lower.h"

struct event;

enum { SPIN_WORDS = 16, SPIN_COUNTERS = 4 };

/* Words that a spin reads and does not write. A word that it fails to change atomically counts as read. */
struct spin {
	unsigned n;
	struct {
		uint64_t addr, len, value;
	} word[SPIN_WORDS];
	unsigned ncounters; /* words that every turn changes: besides the registers only they tell the turns apart */
	uint64_t counter[SPIN_COUNTERS];
	unsigned nchanged; /* words that have another value during a part of a turn, such as a lock that is taken and
			    * released */
	uint64_t changed[SPIN_WORDS];
	bool counts; /* something differs after each turn */
	bool asks;   /* it also reads a clock or makes calls: what ends it may not be in memory */
};

/* What an image keeps of a thread besides its registers. */
struct upper_thread {
	uint32_t number; /* from 1, in order of creation */
	int32_t tid;
	uint64_t tls;
	uint64_t sigmask;        /* the mask as the program knows it */
	uint64_t suspended_mask; /* mask that rt_sigsuspend restores, while `suspended` */
	uint64_t suspended;
	uint64_t sigalt_sp, sigalt_size;
	uint64_t sigalt_flags;
	uint64_t clear_child_tid;
	uint64_t robust_list, robust_len;
	uint64_t filter; /* the newest of its filters for system calls (crossing/filters.h); 0: it has none */
	char name[16];   /* prctl(2), PR_SET_NAME */
};

enum thread_state {
	THREAD_RUNS = 0,  /* in upper code, or in the lower half on its way back */
	THREAD_ASKS = 1,  /* waits for the answer to an event */
	THREAD_READY = 2, /* about to start, or stopped in a computation; a RESUME record lets it continue */
	THREAD_ENDS = 3,
	THREAD_MOVES = 4, /* goes on where it was, on another kernel thread (live_threads.h); never in an image */
};

enum { EVENTS_NESTED = 16, LOWER_STACK = 16 << 20, SIGNAL_STACK = 1 << 20 };

enum { POLLING_EVENTS = 4 }; /* longest turn */

/* polling.h */
struct polling {
	bool asks, is_clock;           /* its current event is examined; that event reads a clock */
	bool waits;                    /* it must give way before it asks again */
	uint64_t event;                /* its last event */
	unsigned length, n;            /* events in the turn being looked for; events since that turn began */
	uint64_t site[POLLING_EVENTS]; /* instruction of each event */
	bool still;                    /* clocks are held still since before this turn: they repeat their last answer */
	unsigned clocks;               /* number of clocks below, each with its last answer */
	struct {
		uint64_t which;
		int64_t now;
	} clock[POLLING_EVENTS];
	unsigned turn;       /* of spin.h */
	unsigned skip, vain; /* looks to skip; looks in a row that found nothing */
};

struct thread {
	struct gate_state gate; /* first: gate.S finds it there */
	struct upper_thread upper;
	enum thread_state state;
	ucontext_t *uc;               /* context where a signal made it leave upper code */
	uint64_t asks_at;             /* address of the instruction that asks, in that case */
	uint64_t guard_sp;            /* guarded_call(): stack pointer to continue with after a fault; 0: not in one */
	struct gate_frame *frame;     /* frame of the hypercall under way; NULL while a system call is answered */
	struct gate_frame *came_back; /* frame to which its newest upcall has returned, and the result below */
	uint64_t upcall_result;
	bool wild; /* the program was interrupted where no code of its own is (boundary_runs_upper) */
	bool trap_in_flight;
	bool hot;     /* in a call through hot_gate: whatever needs the program's own registers waits for the trap on
		       * return */
	bool deliver; /* deliver a signal at the trap after the hypercall */
	void *signal_stack;
	struct context start; /* initial registers of a thread that has not run yet */
	uint64_t start_tls;

	/* its events under way; upcalls nest them */
	struct event *events;
	unsigned depth;

	/* recording */
	uint32_t turn;           /* futex, enum turn (baton.c): says whether it has the baton */
	int32_t carrier;         /* tid of its kernel thread (carrier); the program knows it as upper.tid */
	uint64_t unshares;       /* for unshare(2): what its carrier must have for itself */
	uint32_t born;           /* futex: set when its carrier is ready */
	uint32_t known;          /* futex: set when its creator has stored its tid; it may begin */
	void (*stands_in)(void); /* the envoy's (task/envoy.h): asks it for the baton; NULL: a thread of the program */
	struct thread *behind;   /* next thread in the queue for the baton */
	volatile bool yield;     /* its time slice is over */
	bool slow;               /* chaos.c: its speed now, */
	uint32_t speed_left;     /* for so many events; */
	uint32_t late_in;        /* it is late in so many; 0: not drawn yet */
	uint32_t reminded;       /* signals_remind(): a reminder is on its way */
	bool no_new_privs;       /* its carrier must get no_new_privs before its next call (seccomp(2), TSYNC) */
	bool unmade; /* the call to which signals_syscall() answered -EINTR was not made: the signal came first */
	volatile uint64_t pending; /* bits of the signals that it must deliver */
	uint64_t claimed;          /* bits of info[] in use: of pending signals, and while one is put in or out */
	uint64_t awaited;          /* bits of the signals that sigwaitinfo(2) waits for, which count, too */
	uint64_t kernel_mask;      /* signal mask of its carrier (signals.c, signals_sync_kernel()) */
	uint64_t held_back; /* bits of kernel_mask that are set only because one such signal already waits here */
	siginfo_t info[65];
	int32_t patience; /* kernel timer_t; it runs while a signal waits for the next event */
	bool patience_made;
	int32_t look;           /* baton.c: kernel timer_t for the next look at it while it holds the baton */
	bool look_made, looked; /* the timer exists; it runs */
	unsigned naps;          /* baton.c: number of waits for which it sleeps at once instead of spinning first */
	bool spun;              /* it has given way at a known spin, which needs no look */
	uint64_t look_ns;
	uint64_t resumed_ns;       /* its processor time when it went on after a stop in a computation */
	volatile bool look_missed; /* the look came while it was in the lower half */
	bool long_turns;           /* its last spin was found by a long look */
	struct spin spin;          /* while it queues for the baton: the memory it is polling */
	struct polling polling;
	uint32_t asked;       /* number of calls that it has made */
	uint32_t waits_asked; /* number of the call that last waited for a futex, */
	uint64_t waits_at;    /* the address of that futex, */
	uint32_t waits_with;  /* and the value it had; */
	uint64_t missed_at;   /* futex at which it was woken after others had taken it */
	unsigned traps;       /* thread_traps(): the traps in force */
	bool patient;         /* the timer `patience` runs */
	uint64_t leave_sp;    /* stack pointer with which its carrier goes on when it ends */
	uint32_t still;       /* futex of arrivals.c */
	bool locks;           /* host.c: it is taking the plug-ins' lock; others may run */
	bool away;            /* host.c: it is in a plug-in without the right to run */
	bool handed;          /* and has passed on the baton for that */

	/* halt.c, without a recording */
	uint32_t halted;          /* nonzero: at rest until all threads are released */
	uint32_t halt_told;       /* nonzero: a signal that asks it to halt is on its way */
	bool (*complete)(void *); /* halted in a wait of a plug-in: tells whether that wait is over */
	void *complete_arg;
	bool at_trap; /* coordinated.c: it will come to rest at the trap after a hypercall */

	/* replica */
	uint64_t parked_sp;
	/* a recorded piece of its output that differs; reported when its event comes */
	struct rdb_note_sent differs[2];
	/* before and after a restart; asked_ns also in signal_waits.c, by the monotonic clock */
	uint64_t asked_ns;         /* when it began to wait for an answer, by the recording's clock */
	uint64_t socket_begun_ns;  /* likewise, of a call whose socket may have a timeout: signals_hold() */
	uint64_t waited_ns;        /* it repeats a call that had waited this long before; 0: it does not */
	uint64_t asked_done, done; /* likewise, bytes that the call has already moved (partial.h) */
	bool interrupted;          /* a signal has come since the call began */
	int64_t processor_ahead;   /* its processor time as the program knows it, minus the kernel's, in ns */
	int64_t processor_told;    /* the last that the program was told of it */

	struct thread *next;  /* all living threads, oldest first; of an ended one those that were behind it */
	struct thread *spare; /* ended threads */
};

static inline struct thread *thread_self(void)
{
	return (struct thread *)own_pointer();
}

static inline unsigned threads_alive(void)
{
	return lower.threads;
}

/* Can others want to run upper code: threads of this process, or processes with which it takes turns? */
static inline bool threads_compete(void)
{
	return lower.threads > 1 || lower.shares;
}
