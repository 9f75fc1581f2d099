/* The lower half's own state: one process-wide struct, shared by its files. */
#ifndef RDB_LOWER_H
#define RDB_LOWER_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>
#include "crossing/host.h"
#include "base/layout.h"
#include "base/limit.h"
#include "base/mode.h"
#include "log/log_format.h"

enum check { CHECK_SAMPLE, CHECK_FULL, CHECK_OFF };

#define MPI_STUBS 4

struct options {
	const char *dir;                 /* the rank's directory */
	const char *files_dir;           /* the job's store of mapped files */
	const char *mpi_lower;           /* plug-in with the real MPI */
	const char *mpi_stub[MPI_STUBS]; /* libmpi for the upper half, one for each ABI, known by its name */
	const char *verbs_lower;         /* plug-in with the providers of verbs */
	const char *verbs_stub;          /* libibverbs for the upper half */
	const char *cm_stub;             /* librdmacm */
	const char *hca;                 /* soft, real, auto; NULL: auto */
	const char *hca_key;             /* secret of the job's software HCAs */
	int rank;
	int spawned;         /* the first rank of those that MPI_Comm_spawn started with this one; -1: it is none */
	int world_first;     /* the rank that is 0 in its MPI_COMM_WORLD: of spawned processes not 0 */
	int appnum;          /* of these the number of their command */
	bool worlds;         /* restart: the launcher starts several MPI_COMM_WORLDs as one */
	uint64_t hash_every; /* record: a hash at every so many events; 0: by time budget */
	enum check check;    /* record: how much of what the program hands out (space/sent.h) */
	long slice_ms;       /* a thread that computes gives way after so long, if another one waits */
	const char *exe;     /* the program's file, where argv[0] is not its name */
	struct limit checkpoint_every, keep, log_budget;
	bool order;          /* of recordings: the payloads of messages are not logged (crossing/order.h) */
	bool expand;         /* replay: they are made again (replay/expand.h) */
	bool no_checkpoints; /* --checkpoint-every 0: none but the first */
	const char *board;   /* where its ranks agree on them (restart/board.h) */
	unsigned board_ranks;
	int board_rank;
	long mtbf_s;                   /* checkpoints as often as is best for it; 0: not asked for */
	bool from_image;               /* restart: the image holds all, nothing is replayed */
	const char *replay;            /* the recording to replay, or NULL */
	bool verify;                   /* replay: alone, to the end */
	bool only_check;               /* replay: is the checkpoint whole? */
	const struct mode *mode_after; /* restart */
	bool no_children;              /* leave child processes native */
	bool lax;                      /* pass on what the tables do not know */
	unsigned checkpoint;           /* replay: image to start from */
	bool checkpoint_given;
	bool checked;        /* replay: the images' pages have been checked before */
	long patience_s;     /* --verify: so long a program may compute without an event, at least; 0: for ever */
	const char *restart; /* the recording to replay up to `at`, and to go on from live; else NULL */
	const char *branch;  /* where that is recorded */
	uint64_t at;
	const char *tree;      /* restart: directory with the plan of a program with child processes (restart/tree.h) */
	const char *process;   /* PROCESS-PROGRAM in it */
	const char *pids;      /* the numbers that programs know after one (base/pids.h) */
	int inherit;           /* descriptor with what the program had open at its beginning */
	const char *in_flight; /* file with the events whose messages were under way at the cut, one a line */
	bool in_place;         /* files go on where they were, rolled back; else copies of the branch's own do */
	uint64_t until;        /* replay: the recording ends after this event, whatever has been added to it since */
	int agent_fd;          /* replica: socket to the server, else -1 */
	bool sigmask_given;    /* --sigmask: the first thread has it */
	char **argv;           /* program and its arguments */
	char **envp;
};

/* What an image keeps besides memory and registers (image.h); versioned with it. */
struct upper_state {
	uint64_t brk;
	uint64_t mmap_next;    /* next address the arena gives out */
	uint64_t mmap_next_32; /* the same for MAP_32BIT */
	uint64_t scratch_end;  /* mapped end of the scratch area */
	uint64_t entry;        /* the program's entry point */
	uint64_t interp_base;
	uint64_t auxv_addr, auxv_len;
	uint32_t threads_made; /* the newest thread's number */
	uint32_t first_pid;    /* of a branch: the program's when it was started; 0: it is the same still */
	uint64_t traps;        /* instructions that trap in the upper half (instructions.h) */
	struct upper_sigaction {
		uint64_t handler, flags, restorer, mask;
	} sigactions[65];
	char exe[4096]; /* absolute path of the program */
};

struct lower {
	struct options opt;
	const struct mode *mode;
	bool started;          /* event 0 has happened: crossings count */
	bool ended;            /* the log takes no more (ending.h) */
	bool checkpoint_waits; /* coordinated: one is wanted that this rank has not dealt with, as far as it has heard */
	bool killed;           /* by a signal from outside: no thread's doing */
	uint64_t event;        /* last answered event */
	unsigned threads;      /* alive */
	pid_t pid;
	pid_t was_pid; /* the program's, before it was restarted; 0: it was not */
	int lowest_fd; /* our descriptors are at or above this */
	struct upper_state upper;
};

extern struct lower lower;
/* Threads are to come to rest (task/halt.h); gate.S looks at it, too. */
extern volatile uint32_t halt_wanted;
/* Recording: an rdtsc that is not patched has been found; so many are patched (text/traps.h). */
extern bool tsc_must_trap;
extern unsigned tsc_sites_count;

static inline void mode_switch(const struct mode *to)
{
	lower.mode = to;
}

static inline bool recording(void)
{
	return lower.mode->records;
}

static inline bool passing(void)
{
	return lower.mode->passes;
}

static inline bool coordinating(void)
{
	return lower.mode->coordinates;
}

static inline bool replaying(void)
{
	return lower.mode->replays;
}

static inline bool serving(void)
{
	return lower.mode->serves;
}

static inline bool verifying(void)
{
	return lower.mode->replays && !lower.mode->serves;
}

static inline bool expanding(void)
{
	return lower.mode->expands;
}

static inline bool restarting(void)
{
	return lower.mode->restarts;
}

/* If set: what rdb_fatal() does before it exits; it may return. */
extern void (*lower_at_fatal)(int exit_code, const char *text);
/* Prints "rdb: ..." on stderr, ends the recording as unsupported, exits with 125. */
void rdb_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Prints "rdb: ..." on stderr. */
void rdb_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A system call as the kernel has it: result or -errno.  Never touches errno. */
static inline long raw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* All but the faults, which a process must not meet before it is ready for them, and must not lose: `before` is what they
 * were. */
void lower_block_signals(sigset_t *before);
/* Moves a descriptor of ours out of the program's way; returns the new one or -errno. */
int lower_fd(int fd);

#endif
