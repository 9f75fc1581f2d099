/* The board: a file in the job's directory that all its ranks have mapped.  Each rank writes there what the others must
 * know of it to take a checkpoint together.  No rank answers another: a rank inside a collective could not, but what it
 * had counted when it went in stands here all the same.  rdb/coordinate/board.py reads it, too.
 *
 * A checkpoint is a generation.  A rank that wants one makes `wanted` the next number; `verdict` says what became of
 * it.  Ranks on several hosts have a board on each (`board-HOST`), and a process on each host copies the slots of other
 * hosts' ranks to it (rdb/coordinate/relay.py).  Such copies are old: there no rank decides, it objects, and one relay
 * decides.
 *
 * Several processes write `wanted` and `verdict`: the ranks, the relay, `rdb checkpoint`.  All do so by board_want() and
 * board_decide() alone, which compare and swap: `wanted` only grows, and the first verdict on a generation stands.  Who
 * wants to decide therefore looks at the answer of board_decide(), not at the verdict before.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define BOARD_MAGIC 0x6472616f62626472ull
#define BOARD_VERSION 8

enum { BOARD_COMMS = 1000, BOARD_HEAD = 4096 };

/* A count that concerns only the two ranks named in its id.  A rank without that count has counted to 0. */
#define BOARD_PAIR (1ull << 63)
static inline uint64_t board_pair(uint64_t name, bool second, unsigned rank, unsigned other)
{
	return BOARD_PAIR | (uint64_t)second << 62 | (name & 0x3fffffff) << 32 | (uint64_t)(rank & 0xffff) << 16 |
	       (other & 0xffff);
}

/* Whether it is the count of a pair with this name. */
static inline bool board_pair_of(uint64_t id, uint64_t name)
{
	return id & BOARD_PAIR && (id >> 32 & 0x3fffffff) == (name & 0x3fffffff);
}

static inline bool board_names(uint64_t id, unsigned rank)
{
	return id & BOARD_PAIR && ((id & 0xffff) == rank || (id >> 16 & 0xffff) == rank);
}

/* was-N-K: from this K on they are files of MPI; and their greatest number. */
enum { BOARD_FILES_FROM = 1024, BOARD_FILES = 64 };

enum board_verdict { BOARD_OPEN, BOARD_GO, BOARD_NO };
enum board_state {
	BOARD_ABSENT,
	BOARD_RUNS,
	BOARD_HELD, /* at rest; leaves that only if it finds itself behind */
	BOARD_GONE, /* has ended, or is about to */
};

enum board_mpi {
	BOARD_MPI_NONE,
	BOARD_MPI_BEGINS, /* in MPI_Init */
	BOARD_MPI_RUNS,
	BOARD_MPI_ENDS, /* in MPI_Finalize, or after it */
};

struct board_clock {
	uint64_t id;    /* id of a communicator, the same in all its ranks */
	uint64_t count; /* collectives on it that this rank has begun */
};

struct board_slot {
	uint32_t state;
	int32_t pid;
	char host[64];
	uint64_t moves;          /* number of times that it has begun or ceased to be held */
	uint64_t sent, received; /* messages sent by the program; received by it, or taken out of the network for it */
	uint64_t pending;        /* operations that are still to complete before an image */
	uint64_t objects;        /* newest generation that this rank refuses, where a relay decides */
	uint64_t imaged;         /* newest generation whose image is begun */
	uint64_t written;        /* newest generation whose files are whole */
	uint64_t failed;         /* newest generation whose files could not be written */
	uint64_t stood_ns;       /* how long it was held and imaged for the newest generation */
	uint64_t fork_ns;        /* the image's part of that */
	uint64_t mpi;            /* enum board_mpi */
	uint64_t away;           /* threads in calls of libraries that may wait for other ranks */
	uint64_t silent;         /* those of them that are in a call that has no count here, such as MPI_Comm_accept */
	uint64_t inside;         /* communicator of a collective that the rank is in and may be held in; 0: none */
	uint64_t started;        /* proc_pid_stat(5), starttime: `pid` may be used again */
	uint64_t writer;         /* the process that writes the newest image; 0: none yet */
	uint64_t writer_started; /* as `started` */
	uint64_t points;         /* safe points of a program with callbacks that it has left (include/rdb.h) */
	uint64_t calls;          /* it runs callbacks before a checkpoint */
	uint64_t agreed;         /* where a relay decides: `moves` when the relay saw it held */
	uint64_t nclocks;
	struct board_clock clocks[BOARD_COMMS];
};

struct board {
	uint64_t magic;
	uint32_t version, nranks;
	uint64_t wanted;
	uint64_t verdict;   /* generation << 2 | enum board_verdict */
	uint64_t committed; /* newest generation that all ranks have whole */
	uint32_t relayed;   /* other hosts have boards of their own */
	int32_t relay;      /* the process that speaks for this host; 0: not yet */
	char why[512];      /* reason of the newest BOARD_NO */
	uint32_t lock;      /* held to decide BOARD_GO, and by a rank that ceases to be held */
};

static inline struct board_slot *board_slot(struct board *b, unsigned rank)
{
	const uint64_t size = (sizeof(struct board_slot) + 4095) & ~4095ul;
	return (struct board_slot *)((char *)b + BOARD_HEAD + rank * size);
}

/* Collectives that this rank has begun for good: one in which it may be held can still be taken back. */
static inline uint64_t board_count(const struct board_slot *s, uint64_t clock)
{
	const uint64_t count = __atomic_load_n(&s->clocks[clock].count, __ATOMIC_SEQ_CST);
	return count - (count && __atomic_load_n(&s->inside, __ATOMIC_SEQ_CST) == s->clocks[clock].id);
}

static inline uint64_t board_bytes(unsigned nranks)
{
	return (uint64_t)(char *)board_slot((struct board *)0, nranks);
}

/* The verdict on a generation; BOARD_NO also if a later one has been decided. */
static inline enum board_verdict board_verdict(const struct board *b, uint64_t generation)
{
	uint64_t v = __atomic_load_n(&b->verdict, __ATOMIC_ACQUIRE);
	return v >> 2 == generation ? (enum board_verdict)(v & 3) : v >> 2 > generation ? BOARD_NO : BOARD_OPEN;
}

static inline uint64_t board_wanted(const struct board *b)
{
	return __atomic_load_n(&b->wanted, __ATOMIC_ACQUIRE);
}

#ifdef RDB_BOARD_OWNER
#define BOARD_API __attribute__((visibility("default")))
/* Maps the board at `path`, and makes it if it is missing.  0 or -errno. */
int board_open(const char *path, unsigned nranks, struct board **out);
void board_close(struct board *b);
/* Takes the lock, to be held for a moment.  False: another rank has had it for a second; perhaps it was killed. */
bool board_lock(struct board *b);
void board_unlock(struct board *b);
/* Is a rank in a call that waits for others, where none of them can tell whether it is needed?  Also between the first
 * MPI_Init and the last. */
bool board_silent(struct board *b);
/* Asks for this generation.  False: that or a newer one was wanted before. */
BOARD_API bool board_want(struct board *b, uint64_t generation);
/* The first verdict stands.  True: it is this one. */
BOARD_API bool board_decide(struct board *b, uint64_t generation, enum board_verdict verdict, const char *why);
/* True: all ranks are held, none is behind in any communicator, and all that was sent has been received. */
bool board_stable(struct board *b);
/* Has another rank got further in a collective than this one, in a communicator of both? */
bool board_behind(struct board *b, unsigned rank);
#endif
