/* What a program may ask of rdb.  Needs no library, and does nothing when the program does not run under rdb.
 * docs/checkpoint.md says more. */
#ifndef RDB_H
#define RDB_H
#include <stddef.h>
#include <sys/prctl.h>

#define RDB_PRCTL_CHECKPOINT 0x72646263
#define RDB_PRCTL_HOOKS 0x72646268

/* Second argument of RDB_PRCTL_HOOKS. */
enum {
	RDB_HOOKS_USED,       /* there are callbacks: checkpoints only at safe points */
	RDB_HOOKS_POINT,      /* a safe point: 1 if a checkpoint is to be taken there */
	RDB_HOOKS_TAKE,       /* the callbacks have run: take it now */
	RDB_HOOKS_FAILED,     /* one of them has failed: do not take it */
	RDB_HOOKS_GENERATION, /* number of restarts */
	RDB_HOOKS_EXCLUDE,    /* address, length */
	RDB_HOOKS_INCLUDE,    /* address */
	RDB_HOOKS_DATA,       /* name, buffer, length */
	RDB_HOOKS_IGNORED,    /* a callback after a checkpoint or a restart (which: enum rdb_when) has failed */
	RDB_HOOKS_DISTRIBUTE, /* struct rdb_part */
	RDB_HOOKS_REDISTRIBUTE,
};

enum rdb_when { RDB_BEFORE_CHECKPOINT, RDB_AFTER_CHECKPOINT, RDB_AFTER_RESTART };

#define RDB_CALLBACKS 64

/* One for the whole program.  Set by the functions below. */
struct rdb_callbacks {
	struct {
		enum rdb_when when;
		int (*call)(void *data);
		void *data;
	} list[RDB_CALLBACKS];
	int n, used, generation, running;
};
__attribute__((weak)) struct rdb_callbacks rdb_callbacks;

static inline int rdb_hooks_(int what, const void *a, unsigned long b, unsigned long c)
{
	return prctl(RDB_PRCTL_HOOKS, (unsigned long)what, (unsigned long)a, b, c);
}

/* The number of times that the program has been restarted; 0: never. */
static inline int rdb_generation(void)
{
	const int n = rdb_hooks_(RDB_HOOKS_GENERATION, NULL, 0, 0);
	return n < 0 ? 0 : n;
}

/* Checkpoints only at safe points (below) from now on.  0; -1: not under rdb. */
static inline int rdb_used_(void)
{
	struct rdb_callbacks *all = &rdb_callbacks;
	if (rdb_hooks_(RDB_HOOKS_USED, NULL, 0, 0))
		return -1;
	if (!all->used)
		all->generation = rdb_generation();
	all->used = 1;
	return 0;
}

/* Has rdb call this function at safe points.  One before a checkpoint that returns another value than 0 refuses it.
 * 0; -1: not under rdb, or there are RDB_CALLBACKS already. */
static inline int rdb_on(enum rdb_when when, int (*call)(void *data), void *data)
{
	struct rdb_callbacks *all = &rdb_callbacks;
	if (all->n == RDB_CALLBACKS || rdb_used_())
		return -1;
	all->list[all->n].when = when;
	all->list[all->n].call = call;
	all->list[all->n++].data = data;
	return 0;
}

/* Those before a checkpoint run from the newest to the oldest, the others from the oldest to the newest. */
static inline int rdb_run_(enum rdb_when when)
{
	struct rdb_callbacks *all = &rdb_callbacks;
	int failed = 0, i;
	for (i = 0; i < all->n; i++) {
		const int at = when == RDB_BEFORE_CHECKPOINT ? all->n - 1 - i : i;
		if (all->list[at].when != when)
			continue;
#if defined(__cplusplus) && defined(__cpp_exceptions)
		try {
			failed |= all->list[at].call(all->list[at].data) != 0;
		} catch (...) {
			failed = 1;
		}
#else
		failed |= all->list[at].call(all->list[at].data) != 0;
#endif
	}
	return failed;
}

/* A failure of one afterwards changes nothing: rdb says so. */
static inline void rdb_run_after_(enum rdb_when when)
{
	if (rdb_run_(when))
		rdb_hooks_(RDB_HOOKS_IGNORED, NULL, (unsigned long)when, 0);
}

/* A place where callbacks may run and a checkpoint may be taken.  A program with callbacks has checkpoints nowhere else;
 * its ranks must all come to such places, equally often.  1: a checkpoint was taken, or asked for; 0: none was. */
static inline int rdb_safe_point(void)
{
	struct rdb_callbacks *all = &rdb_callbacks;
	int taken = 0;
	if (!all->used || all->running)
		return 0;
	all->running = 1;
	if (rdb_generation() != all->generation) {
		all->generation = rdb_generation();
		rdb_run_after_(RDB_AFTER_RESTART);
	}
	if (rdb_hooks_(RDB_HOOKS_POINT, NULL, 0, 0) == 1) {
		if (rdb_run_(RDB_BEFORE_CHECKPOINT))
			rdb_hooks_(RDB_HOOKS_FAILED, NULL, 0, 0);
		else
			taken = rdb_hooks_(RDB_HOOKS_TAKE, NULL, 0, 0) == 0;
		if (rdb_generation() != all->generation) {
			all->generation = rdb_generation();
			rdb_run_after_(RDB_AFTER_RESTART);
		} else {
			rdb_run_after_(RDB_AFTER_CHECKPOINT);
		}
	}
	all->running = 0;
	return taken;
}

/* Asks for a checkpoint soon after this call: of this process or, for a rank of a job with --record=off, of all its
 * ranks (one rank asks for all).  It is a safe point.  0; -1: not under rdb. */
static inline int rdb_checkpoint(void)
{
	const int rc = prctl(RDB_PRCTL_CHECKPOINT, 0, 0, 0, 0);
	if (!rc)
		rdb_safe_point();
	return rc;
}

/* Memory that a checkpoint need not keep: whole pages in it are zero after a restart.  Ends with rdb_include() of its
 * address, which must come before it is freed.  0; -1: not under rdb, or there are 64 such ranges already. */
static inline int rdb_exclude(void *address, size_t length)
{
	return rdb_hooks_(RDB_HOOKS_EXCLUDE, address, length, 0) ? -1 : 0;
}

static inline int rdb_include(void *address)
{
	return rdb_hooks_(RDB_HOOKS_INCLUDE, address, 0, 0) ? -1 : 0;
}

/* The text of the variable RDB_DATA_<name> in the environment of the newest `rdb run` or `rdb restart`.  Its length
 * without the final 0, which may be more than the buffer takes; -1: it is not set, or not under rdb. */
static inline int rdb_data(const char *name, char *buffer, size_t room)
{
	return rdb_hooks_(RDB_HOOKS_DATA, name, (unsigned long)buffer, room);
}

/* The rows of an array that one rank has, in the order of its memory: `number` rows from row `first` on, `block` of them
 * behind each other; each next block begins `step` rows after the one before. */
struct rdb_rows {
	long first, number, block, step;
};

/* What is handed to rdb: `number` rows of `row` bytes each, behind each other at `address`. */
struct rdb_part {
	const char *name;
	void *address;
	size_t row;
	struct rdb_rows rows;
};

/* Of `total` rows, those of `rank`: about as many for each of `ranks` ranks, in their order. */
static inline struct rdb_rows rdb_block(long total, int rank, int ranks)
{
	const long least = total / ranks, more = total % ranks, number = least + (rank < more);
	const struct rdb_rows rows = {least * rank + (rank < more ? rank : more), number, number, number};
	return rows;
}

/* Of `total` rows, those of `rank` when the ranks take `block` rows in turn. */
static inline struct rdb_rows rdb_cyclic(long total, long block, int rank, int ranks)
{
	const long step = block * ranks, first = block * rank, rest = total % step - first;
	struct rdb_rows rows = {first, total / step * block, block, step};
	if (rest > 0)
		rows.number += rest < block ? rest : block;
	return rows;
}

/* Has each checkpoint note these rows of the array `name`, for an `rdb restart -n` with another number of ranks: that
 * starts the program anew, and rdb_redistribute() gives it the rows.  The memory must stay where it is; another call
 * with the same name and first row says where it is now, one without rows (number 0) that the rank has none any more.
 * Checkpoints are taken only at safe points from then on.
 * 0; -1: not under rdb, or there are 64 such parts, or the arguments make no sense (a name has up to 31 letters, digits,
 * underscores). */
static inline int rdb_distribute(const char *name, void *address, size_t row, struct rdb_rows rows)
{
	const struct rdb_part part = {name, address, row, rows};
	return rdb_hooks_(RDB_HOOKS_DISTRIBUTE, &part, 0, 0) ? -1 : rdb_used_();
}

/* Fills the memory with these rows as they were at the checkpoint, whichever ranks had them.  0; -1: the program was not
 * started by `rdb restart -n`, or the array has no such rows, or its rows have another size. */
static inline int rdb_redistribute(const char *name, void *address, size_t row, struct rdb_rows rows)
{
	const struct rdb_part part = {name, address, row, rows};
	return rdb_hooks_(RDB_HOOKS_REDISTRIBUTE, &part, 0, 0) ? -1 : 0;
}

#endif
