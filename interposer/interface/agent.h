/* The agent: the part of a replica (rdb-exec --replay) that stops it, looks into it and moves it.
 *
 * It runs inside the replica, in the lower half, in signal handlers on the lower alternate stack: no ptrace.
 * Breakpoints are int3 instructions that the replica itself catches (about 2 us a hit, less in tight loops); they are
 * in memory only while it runs natively.  A step carries out the instruction on the saved context (emulate.h).  If
 * emulate.h does not know it, the processor executes it with an int3 behind it or with the trap flag.  Watchpoints are
 * perf_event hardware breakpoints with sigtrap on itself, or protected pages where there are none.  A snapshot is
 * fork().  While stopped the replica sits in the handler and answers requests from the server on a SOCK_SEQPACKET Unix
 * socket (--agent-fd).  When the socket closes the replica exits.
 *
 * Wire format, native endianness: a request is struct agent_request followed by `len` payload bytes; each request is
 * answered by one struct agent_reply followed by `len` payload bytes; one packet is at most AGENT_PACKET bytes.  RUN
 * and STEP are answered when the replica stops again.  While it runs the server may send SIGUSR1 (by pid) to interrupt
 * it: reason AGENT_STOP_INTERRUPT.
 */
#pragma once
#include <stdint.h>
#include "arch/agent_registers.h"

#define AGENT_VERSION 15
#define AGENT_PACKET 131072
#define AGENT_FOREVER UINT64_MAX

enum agent_op {
	AGENT_HELLO = 1,    /* -> payload struct agent_hello */
	AGENT_READ = 2,     /* a=addr b=len (<= 65536) c=0 -> payload bytes, as many as are readable (status
	                      = count, 0 or more); breakpoint bytes hidden.  c=1+step: as they were before that
	                      step of the last STEP with AGENT_STEP_TRACE, if AGENT_UNDO says that this is known */
	AGENT_WRITE = 3,    /* a=addr, payload bytes -> status 0 / -errno; breakpoint bytes kept apart;
	                      writes to read-only memory succeed */
	AGENT_GETREGS = 4,  /* a=thread (0: the running one) -> payload struct agent_regs; -ESRCH */
	AGENT_SETREGS = 5,  /* a=thread (0), payload struct agent_regs; -EBUSY: it waits in a hypercall */
	AGENT_BREAK = 6,    /* a=addr b=id c=flags (AGENT_BP_*), payload condition bytecode or none.
	                      Several breakpoints may share an address (different ids; -EEXIST if the id is
	                      there); of several that stop at one arrival the one set first is reported.  A
	                      condition that cannot be evaluated counts as true.  An address that is not mapped yet
	                      is armed when an event maps it. */
	AGENT_UNBREAK = 7,  /* a=id (AGENT_FOREVER: all) */
	AGENT_WATCH = 8,    /* a=addr b=id c=len d=enum agent_watch.  Any len up to 16 MiB.  What the four
	                      hardware slots cannot hold is watched by page protection or, failing that, by stepping
	                      -> status 0 hardware / 1 slower */
	AGENT_UNWATCH = 9,  /* a=id (AGENT_FOREVER: all) */
	AGENT_RUN = 10,     /* a=until_event b=until_pc c=until_n d=flags e=thread.  Goes forward until
	                      - a stopping breakpoint or watchpoint (unless AGENT_RUN_SCAN), or
	                      - the target: until_n == 0: event `until_event` has been answered;
	                        until_n > 0: the until_n-th arrival at until_pc, counted from the later of
	                        here and the answer of event until_event.  Being at until_pc right now
	                        does not count; arriving there by the answer of until_event does.
	                      - the end of the recording, a fault, an interrupt.
	                      With AGENT_RUN_LIMIT it gives up, for the reason AGENT_STOP_LIMIT, after work e:
	                      AGENT_WORK_STOP for each stop of the program at a breakpoint or watchpoint, whether
	                      it is a hit or not, and 1 for each instruction carried out.
	                      With AGENT_RUN_CHANGES watchpoints do not stop: each hit notes the c bytes at b
	                      (AGENT_CHANGES); after e hits it gives up likewise.  The target is an event.
	                      With AGENT_RUN_LOOKOUT it stops, for the reason AGENT_STOP_OTHER, after an event at
	                      which all of the first b AGENT_LOOKOUTs have changed, and for AGENT_STOP_LIMIT when no
	                      more can be noted (AGENT_SEEN).  The target is an event.
	                      Else, with e != 0 and until_n == 0, the target is the first event, not before event a,
	                      after which thread e runs; it is reached at once if thread e runs now.
	                      A breakpoint at the pc where the replica stands is not hit by resuming, nor
	                      is one at the target when the target is reached (the target wins).  A
	                      watchpoint hit by the instruction or event that reaches the target comes
	                      before the target (scan: it is a hit).  If event until_event has been answered
	                      already and until_n is 0, the target is reached at once.
	                      -> payload struct agent_stop */
	AGENT_STEP = 11,    /* a=count b=flags (AGENT_STEP_*) c=stop_pc d=stop_n.  Executes count
	                      instructions (a system call or hypercall with its event is one; a rep-string
	                      instruction is one) -> payload struct agent_stop, then with AGENT_STEP_TRACE
	                      stop.traced x struct agent_gpr: the registers BEFORE each step made, oldest
	                      first (if more than fit a packet, the newest that fit; AGENT_TRACE has more).
	                      AGENT_STEP_PC: stops early at the stop_n-th arrival at stop_pc (and says so
	                      even if that is the count-th step).  AGENT_STEP_INSIDE: stops early after a
	                      step that leaves the addresses from stop_pc up to stop_n, or answers an event.
	                      Breakpoints and watchpoints act as in RUN unless AGENT_STEP_BLIND. */
	AGENT_FORK = 12,    /* with one descriptor (SCM_RIGHTS): the child's socket -> status = child pid.
	                      The child has no breakpoints nor watchpoints, same state, stopped. */
	AGENT_HASH = 13,    /* -> payload uint64_t: hash of the upper half (same as LOG_HASH) */
	AGENT_MAPS = 14,    /* -> payload struct agent_map[] (upper half, lowest first).  a=index to start */
	AGENT_COUNT = 15,   /* a=id -> payload uint64_t[2]: raw arrivals at breakpoint id since it was set,
	                      and since the last event (or since set, if later).  Coming to the address
	                      counts once, in whatever way: also by stopping there for another reason.
	                      Arrivals name positions: where the log stops the thread, one arrival is
	                      before that event, and one after it, as the thread goes on. */
	AGENT_OUTPUT = 16,  /* a=1/0: while on, each write/writev/send* the program replays is kept;
	                      b=1: fetch -> payload struct agent_output + bytes (one per request, status 1;
	                      status 0: no more) */
	AGENT_EXIT = 17,    /* replies, then exits */
	AGENT_UNDO = 19,    /* -> payload uint64_t: the first step of the last STEP with AGENT_STEP_TRACE (0: the first
			     * one made) from which on all overwritten memory is known */
	AGENT_TRACE = 23,   /* a=step.  Of the last STEP with AGENT_STEP_TRACE, whose newest AGENT_TRACED steps are
			     * kept. b=0 -> payload struct agent_gpr[], before step a and the steps after it, as
			     * many as fit; -ENODATA: step a is not kept any more.  b=1 c=pc -> status: the newest
			     * step before a that was made at pc (any, also 0); -ENOENT: none.  b=2 c=first d=end -> status:
			     * the same, made outside of these addresses */
	AGENT_THREADS = 18, /* -> payload struct agent_thread[], oldest first */
	AGENT_CHANGES = 21, /* -> payload struct agent_change[]: the changes that the last AGENT_RUN_CHANGES noted */
	AGENT_ASKED = 22,   /* After AGENT_STOP_END -> payload struct agent_asked: the question that the log cannot
			     * answer; -ENODATA: the replica is not at the end, or asks nothing */
	AGENT_UNTIL = 24,   /* a=event b=end_kind c=end_value.  The log has grown: from now on it is read up to that
			     * event, and its end is as given (agent_hello).  Only if no record can have been added
			     * before the event that follows the replica's */
	AGENT_ARRAY = 25,   /* payload struct agent_array -> payload struct agent_array_found; status 1: its
	                     `index` is an address that cannot be read; -EINVAL */
	AGENT_LOOKOUT = 26, /* a=number payload struct agent_lookout -> 0 / -EINVAL.  It stays set until replaced under
			     * the same number, also in a fork */
	AGENT_SEEN = 27,    /* -> status: the last event of the last RUN with AGENT_RUN_LOOKOUT at which one of the
			     * lookouts was unchanged; payload struct agent_seen[]: events at which the matching
			     * lookout, or its values, became another */
	AGENT_SETTLE = 20,  /* Makes this replica cheap to fork (settle.h) -> status bytes moved / -errno */
};

enum { AGENT_BP_STOP = 1, /* otherwise it only counts */ };
enum {
	AGENT_RUN_SCAN = 1, /* breakpoints/watchpoints do not stop; the last hit is remembered */
	AGENT_RUN_LIMIT = 2,
	AGENT_RUN_CHANGES = 4,
	AGENT_RUN_LOOKOUT = 8
};
/* Flags of RUN and STEP.  Bit AGENT_RAISES + n: stop before the program handles a fault that is signal n (a scan: the hit
 * has the id AGENT_RAISED_ID + n; hits as for AGENT_STOP_RAISED).  SIGTRAP is not among them.  AGENT_PASS: the fault of the
 * instruction where the replica stands is passed, and not counted. */
enum { AGENT_PASS = 1 << 16, AGENT_RAISES = 32 };
#define AGENT_RAISED_ID 0x72646300ul
enum { AGENT_WORK_STOP = 32, AGENT_TRACED = 32768 };
enum {
	AGENT_STEP_TRACE = 1,
	AGENT_STEP_PC = 2,
	AGENT_STEP_BLIND = 4,
	AGENT_STEP_SCAN = 8,
	AGENT_STEP_INSIDE = 32,
	AGENT_STEP_REAL = 16 /* every instruction by the processor itself: slow; for tests */
};
enum agent_watch {
	AGENT_WATCH_WRITE = 0, /* stops when the VALUE changed, also by an event */
	AGENT_WATCH_READ = 1,
	AGENT_WATCH_ACCESS = 2 /* what an event writes counts, too, also the value that was there already */
};

enum agent_stop_reason {
	AGENT_STOP_START = 1,
	AGENT_STOP_TARGET = 2, /* RUN's target, or STEP's count */
	AGENT_STOP_BREAK = 3,  /* id; before the instruction */
	AGENT_STOP_WATCH = 4,  /* id, addr; after the instruction or event that did it */
	AGENT_STOP_END = 5,    /* the recording ends here (end_kind, end_value); at the last
	                             instruction boundary before the event that is not in the log */
	AGENT_STOP_FAULT = 6,  /* signal, addr, end_value=si_code: the program faults here as it did when recorded */
	AGENT_STOP_INTERRUPT = 7,
	AGENT_STOP_DIVERGED = 8, /* payload text follows struct agent_stop: what was recorded, what came */
	AGENT_STOP_PC = 9,       /* STEP with AGENT_STEP_PC arrived */
	AGENT_STOP_LIMIT = 10,   /* RUN with AGENT_RUN_LIMIT, AGENT_RUN_CHANGES or AGENT_RUN_LOOKOUT */
	AGENT_STOP_OTHER = 11,   /* RUN with AGENT_RUN_LOOKOUT */
	AGENT_STOP_RAISED = 12,  /* signal, addr, end_value=si_code, hits=such faults since the later of the last event
	                             and the start of this RUN/STEP: the instruction faults here, as it did when
	                             recorded, and the program's handler comes next (AGENT_RAISES) */
};

/* Expressions over arrays (arrays.h).  All operands have the same extents; dimension 0 varies fastest. */
enum { AGENT_DIMENSIONS = 15, AGENT_OPERANDS = 4, AGENT_STEPS = 32 };
enum agent_array_type {
	AGENT_I8 = 1,
	AGENT_U8,
	AGENT_I16,
	AGENT_U16,
	AGENT_I32,
	AGENT_U32,
	AGENT_I64,
	AGENT_U64,
	AGENT_F32,
	AGENT_F64,
	AGENT_X87,
	AGENT_F16
};
enum agent_array_op {                 /* each takes 0, 1 or 2 numbers from the stack and puts one there */
		      AGENT_LOAD = 1, /* the operand `which` */
		      AGENT_NUMBER,   /* high + low */
		      AGENT_ABS,
		      AGENT_NEGATE,
		      AGENT_NOT,
		      AGENT_FINITE,
		      AGENT_NAN,
		      AGENT_INFINITE,
		      AGENT_ROOT,
		      AGENT_ADD,
		      AGENT_SUBTRACT,
		      AGENT_MULTIPLY,
		      AGENT_DIVIDE,
		      AGENT_LESS,
		      AGENT_LESS_EQUAL,
		      AGENT_GREATER,
		      AGENT_GREATER_EQUAL,
		      AGENT_EQUAL,
		      AGENT_NOT_EQUAL,
		      AGENT_AND,
		      AGENT_OR,
		      AGENT_POWER,
		      AGENT_QUOTIENT,  /* of whole numbers, towards 0 */
		      AGENT_REMAINDER, /* with the sign of the first number */
		      AGENT_BITS_AND,  /* of whole numbers of 64 bits */
		      AGENT_BITS_OR,
		      AGENT_BITS_XOR,
		      AGENT_MASKED /* as the last step: the first number, which counts only if the second is not 0 */
};
enum agent_array_fold {
	AGENT_FOLD_ALL = 1,
	AGENT_FOLD_ANY,
	AGENT_FOLD_COUNT,
	AGENT_FOLD_SUM,
	AGENT_FOLD_MAX,
	AGENT_FOLD_MIN,
	AGENT_FOLD_SORTED,
	AGENT_FOLD_CHECKSUM, /* CRC-32C of the bytes of the first operand */
	AGENT_FOLD_PRODUCT,
	AGENT_FOLD_WHERE_MAX, /* index of the first one of them, from 0; -1: there are no elements */
	AGENT_FOLD_WHERE_MIN
};
/* How to get from one element of an operand to the next.  It decides what the `stride` numbers mean (the enums below).
 * All but AGENT_STRIDES have one dimension. */
enum agent_array_walk {
	AGENT_STRIDES, /* stride: bytes from one to the next, in each dimension */
	AGENT_CHAIN,   /* linked nodes; addr is the first one */
	AGENT_TREE,    /* nodes of a binary tree, in order */
	AGENT_BLOCKS,  /* addr is an array of pointers to blocks */
	AGENT_RING     /* addr is one block, used as a ring buffer */
};
enum { AGENT_NODE_VALUE = 0, AGENT_NODE_NEXT, AGENT_TREE_LEFT = 1, AGENT_TREE_RIGHT, AGENT_TREE_PARENT };
enum {
	AGENT_BLOCK_STRIDE = 0, /* bytes from one element to the next */
	AGENT_BLOCK_ELEMENTS,
	AGENT_BLOCK_FIRST, /* index of the first element, in the first block */
	AGENT_BLOCK_VALUE  /* offset of the value in an element */
};
struct agent_array {
	uint32_t fold, dimensions, operands, steps;
	uint64_t extent[AGENT_DIMENSIONS];
	struct agent_array_operand {
		uint64_t addr;
		uint32_t type, walk;
		int64_t stride[AGENT_DIMENSIONS];
	} operand[AGENT_OPERANDS];
	struct agent_array_step {
		uint32_t op, which;
		double high, low;
	} step[AGENT_STEPS];
};
struct agent_array_found {
	double high, low;              /* the value is their sum */
	uint64_t elements;             /* number of elements */
	uint64_t index;                /* index of the first element that decided, from 0; UINT64_MAX: none did */
	uint64_t node[AGENT_OPERANDS]; /* address of that element's node, for operands made of nodes */
};

struct agent_request {
	uint32_t op;
	uint32_t len;
	uint64_t a, b, c, d, e;
};
struct agent_reply {
	int64_t status;
	uint32_t len;
	uint32_t op;
};

struct agent_hello {
	uint32_t version;
	int32_t pid;
	uint64_t event;      /* last answered event */
	uint64_t last_event; /* newest event in the log (when opened) */
	uint32_t end_kind;   /* enum log_end, 0: the log has no END (killed or still running) */
	int32_t end_value;
	uint64_t entry;               /* program's entry point (AT_ENTRY), upper */
	uint64_t auxv_addr, auxv_len; /* the program's auxiliary vector in upper memory */
	uint64_t interp_base;
};

/* What the value of an expression depends on (lookout.h). */
enum { AGENT_LOOKOUTS = 16, AGENT_RANGES = 256, AGENT_FOLDS = 4, AGENT_LOOKOUT_BYTES = 16384 };
struct agent_lookout {
	uint32_t ranges, folds;
	uint64_t registers;   /* bit n: register number n of gpr matters */
	struct agent_gpr gpr; /* registers at that time */
	struct agent_range {
		uint64_t addr, len;
	} range[AGENT_RANGES];
	struct agent_array fold[AGENT_FOLDS];
	uint8_t bytes[AGENT_LOOKOUT_BYTES]; /* contents of the ranges at that time, one after the other */
};
struct agent_seen {
	uint64_t event;        /* from this event until the next struct agent_seen */
	uint32_t set, refused; /* number of the lookout that was unchanged; bit n: fold n has no value, .addr cannot be
			        * read */
	struct {
		double high, low; /* value of each fold */
		union {
			uint64_t index, addr; /* as in struct agent_array_found */
		};
	} value[AGENT_FOLDS];
};

struct agent_stop {
	uint32_t reason;
	int32_t signal; /* FAULT */
	uint64_t event; /* last answered event */
	uint64_t steps; /* instructions made by STEP */
	uint64_t id;    /* breakpoint or watchpoint */
	uint64_t addr;  /* watchpoint: address written; FAULT: si_addr */
	uint64_t hits;  /* BREAK/TARGET(pc): raw arrivals at that pc since the later of: the
	                            last event, the start of this RUN/STEP (this arrival included) */
	uint32_t end_kind;
	int32_t end_value;
	uint32_t by_event; /* WATCH: the change was made by answering event `event` */
	uint32_t traced;
	/* the last hit of a scan; scan.id == 0: none (ids are nonzero) */
	struct {
		uint64_t id;
		uint64_t event; /* last answered event at the hit */
		uint64_t pc;    /* pc at the hit (for a watchpoint: after the writing instruction) */
		uint64_t hits;  /* breakpoint: as `hits` above.  watchpoint: hits of that watchpoint since
		                        the later of the last event and the start of this RUN/STEP; one
		                        made by the event itself does not count (hits == 0, by_event) */
		uint64_t steps; /* in STEP with AGENT_STEP_SCAN: steps made when it happened */
		uint64_t total; /* hits of all ids in this scan */
		uint32_t by_event;
		uint32_t reserved;
	} scan;
	struct agent_gpr gpr; /* registers where it stopped */
};

struct agent_thread {
	uint32_t number;
	int32_t tid;
	uint32_t state; /* 0 runs, 1 waits for the answer to an event, 2 stopped in a computation or about to start */
	uint32_t reserved;
	uint64_t pc;
	char name[16];
};

struct agent_change {
	uint64_t event, pc; /* as in struct agent_stop, after the change */
	uint64_t by_event;
	uint64_t len;      /* bytes that could be read */
	uint8_t bytes[32]; /* their contents after the change */
};

#define AGENT_ASKED_ARGS 16
struct agent_asked {
	uint32_t kind, nr; /* as in struct log_record */
	uint32_t thread, nargs;
	uint64_t args[AGENT_ASKED_ARGS]; /* the first AGENT_ASKED_ARGS */
};

struct agent_map {
	uint64_t start, end;
	uint32_t prot;
	uint32_t reserved;
};
struct agent_output {
	uint64_t event;
	int32_t fd;
	uint32_t len;
};
