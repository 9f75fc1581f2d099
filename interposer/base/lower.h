/* State of the lower half: one struct per process, shared by its files. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>
#include "interface/host.h"
#include "interface/layout.h"
#include "arch/syscall.h"
#include "base/clocks.h"
#include "base/limit.h"
#include "base/mode.h"
#include "interface/log_format.h"

enum check { CHECK_SAMPLE, CHECK_FULL, CHECK_OFF };

#define MPI_STUBS 4
#define EXCLUDED 64
#define DISTRIBUTED 64

struct options {
	const char *dir;                 /* the rank's directory */
	const char *files_dir;           /* the job's store of mapped files */
	const char *mpi_lower;           /* plug-in with the real MPI */
	const char *mpi_stub[MPI_STUBS]; /* libmpi for the upper half, one per ABI; the file name tells which */
	const char *verbs_lower;         /* plug-in with the providers of verbs */
	const char *verbs_stub;          /* libibverbs for the upper half */
	const char *cm_stub;             /* librdmacm */
	const char *hca;                 /* soft, real, auto; NULL: auto */
	const char *hca_key;             /* secret of the job's software HCAs */
	int rank;
	int spawned;         /* first rank of the MPI_Comm_spawn that started this process; -1: not spawned */
	int world_first;     /* job rank of rank 0 in its MPI_COMM_WORLD; not 0 for spawned processes */
	int appnum;          /* spawned processes: number of their command */
	bool worlds;         /* restart: the launcher starts several MPI_COMM_WORLDs as one */
	uint64_t hash_every; /* record: hash memory every so many events; 0: by time budget */
	enum check check;    /* record: how much of the outgoing bytes is checked (space/sent.h) */
	long slice_ms;       /* a computing thread gives way after this long if another one waits */
	bool chaos;          /* record: threads are late at random (task/chaos.h) */
	const char *exe;     /* the program's file, if argv[0] is not its name */
	const char *path;    /* where else than in PATH it is looked for */
	int exe_fd;          /* descriptor of exe; 0: not given */
	struct limit checkpoint_every, keep, log_budget;
	bool order;          /* record: do not log the payloads of messages (crossing/order.h) */
	bool lean;           /* record: do not log those that the sender's recording has (mpi/lower/core/lean.h) */
	bool expand;         /* replay: make the payloads again (replay/expand.h) */
	const char *deliver; /* replay: the messages to hand to their receivers (replay/deliver.h) */
	const char *ask;     /* replay: the command that has payloads made (replay/ask.h) */
	bool no_checkpoints; /* --checkpoint-every 0: only the first */
	const char *board;   /* file of the board (restart/checkpoint/board.h) */
	unsigned board_ranks;
	int board_rank;
	long mtbf_s;              /* mean time between failures; sets the checkpoint interval; 0: not given */
	bool undo;                /* what is changed in files is noted from the start (answer/undo.h) */
	bool from_image;          /* restart: go on from the image itself, replay nothing */
	const char *replay;       /* recording to replay, or NULL */
	bool verify;              /* replay: without a server, to the end */
	bool only_check;          /* replay: only check that the checkpoint is whole */
	const char *redistribute; /* replay: only write what is distributed (answer/distribution.h) to this folder */
	const struct mode *mode_after; /* restart: mode after the cut */
	bool no_children;              /* child processes run natively, unrecorded */
	bool lax;                      /* pass on system calls that the tables do not know */
	unsigned checkpoint;           /* replay: image to start from */
	bool checkpoint_given;
	bool checked;        /* replay: the pages of the images have been checked before */
	long patience_s;     /* --verify: shortest time without an event that is taken for a hang; 0: never */
	const char *restart; /* the recording to replay up to event `at` and to continue live; else NULL */
	const char *branch;  /* directory of the branch */
	uint64_t at;
	const char *tree;      /* restart: directory with the plan of a program with children (restart/tree/tree.h) */
	const char *process;   /* PROCESS-PROGRAM in that directory */
	const char *pids;      /* file with the process ids that programs know (base/pids.h) */
	int inherit;           /* descriptor of a file that lists what the program had open at its start */
	const char *in_flight; /* file with the events whose messages were under way at the cut, one per line */
	bool in_place;         /* continue with the original files, rolled back; else with copies in the branch */
	bool rolled_back;      /* in_place: all files have been rolled back already */
	uint64_t until;        /* replay: end after this event, even if the recording has grown since */
	int agent_fd;          /* replica: socket to the server, else -1 */
	bool sigmask_given;    /* --sigmask was given: the first thread starts with that mask */
	char **argv;           /* program and its arguments */
	char **envp;
};

/* What an image keeps besides memory and registers (image.h); versioned with it. */
struct upper_state {
	uint64_t brk;
	uint64_t mmap_next;    /* next address the arena gives out */
	uint64_t mmap_next_32; /* the same for MAP_LOW */
	uint64_t scratch_end;  /* mapped end of the scratch area */
	uint64_t entry;        /* the program's entry point */
	uint64_t interp_base;
	uint64_t auxv_addr, auxv_len;
	uint64_t arguments, variables, strings_end; /* the strings of argv and, behind them, of the environment */
	uint32_t threads_made;                      /* the newest thread's number */
	int32_t pid;                                /* the program's pid, as it knows it (base/pids.h) */
	uint32_t traps;                             /* instructions that trap in the upper half (instructions.h) */
	uint32_t not_dumpable; /* 1 minus the value that PR_GET_DUMPABLE tells the program (prctl_calls.h) */
	/* include/rdb.h */
	uint32_t generation; /* number of restarts */
	uint32_t hooked;     /* there are callbacks */
	struct {
		uint64_t start, end;
	} excluded[EXCLUDED]; /* whole pages; start == end: none */
	struct distributed {
		char name[32];
		uint64_t address, row, first, count, block, step;
	} distributed[DISTRIBUTED]; /* count 0: none */
	struct upper_sigaction {
		uint64_t handler, flags, restorer, mask;
	} sigactions[65];
	char exe[4096]; /* absolute path of the program */
};

struct lower {
	struct options opt;
	const struct mode *mode;
	bool started;          /* event 0 has happened: crossings count */
	bool ended;            /* the recording has ended: nothing is logged any more (ending.h) */
	bool checkpoint_waits; /* coordinated: a checkpoint is wanted that this rank, as far as it knows, has not dealt
			        * with */
	bool killed;           /* killed by a signal from outside, not by a thread of the program */
	uint64_t event;        /* last answered event */
	unsigned threads;      /* alive */
	bool shares;           /* it takes turns with other processes (task/envoy.h) */
	pid_t pid;
	int lowest_fd; /* our descriptors have this number or a higher one */
	struct clocks clocks;
	bool clocks_ahead; /* there may be a difference in `clocks`, or in a thread */
	struct upper_state upper;
};

extern struct lower lower;
/* Nonzero: all threads must come to rest (task/halt.h). gate.S reads this, too. */
extern volatile uint32_t halt_wanted;
/* Recording: counter_must_trap is set when an instruction that reads the counter could not be patched;
 * counter_sites_count is the number of patched ones (text/traps.h). */
extern bool counter_must_trap;
extern unsigned counter_sites_count;

static inline void mode_switch(const struct mode *to)
{
	lower.mode = to;
}

static inline bool recording(void)
{
	return lower.mode->records;
}

/* The world answers, and nothing is logged: --record=off, or the disk is full. */
static inline bool passing(void)
{
	return !lower.mode->records && !lower.mode->answer;
}

/* Nothing is logged, but checkpoints are taken (restart/checkpoint/coordinated.h). */
static inline bool coordinating(void)
{
	return lower.mode->due != NULL;
}

static inline bool replaying(void)
{
	return lower.mode->answer != NULL;
}

/* A replica: the agent stops it, and hashes are not compared. */
static inline bool serving(void)
{
	return lower.mode->at_end != NULL;
}

static inline bool verifying(void)
{
	return replaying() && !serving();
}

/* The program goes on live at the cut (restart/live/live.h). */
static inline bool restarting(void)
{
	return lower.mode->cut != NULL;
}

/* Instructions that trap (text/traps.h), as bits of lower.upper.traps. */
enum { TRAPS_COUNTER = 1, TRAPS_IDENTITY = 2, MAY_TRAP_IDENTITY = 4 };

/* Does reading the counter trap in the program? No if all its counter instructions are patched
 * (text/counter_sites.h). */
static inline bool counter_traps(void)
{
	return lower.upper.traps & TRAPS_COUNTER && (!recording() || counter_must_trap || !counter_sites_count);
}

/* If set: rdb_fatal() calls this before it exits; it may return. */
extern void (*lower_at_fatal)(int exit_code, const char *text);
/* Prints "rdb: ..." on stderr, ends the recording as unsupported, exits with 125. */
void rdb_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Prints "rdb: ..." on stderr. */
void rdb_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Blocks all signals except faults; stores the former mask in *before. A blocked fault would kill the process. */
void lower_block_signals(sigset_t *before);
/* Moves a descriptor of ours out of the program's way; returns the new one or -errno. */
int lower_fd(int fd);
