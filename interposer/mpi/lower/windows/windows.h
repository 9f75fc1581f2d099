/* Windows.  Other ranks do not access the program's memory: each window has a public copy in lower memory, which is the
 * window of the real MPI, and a base, the contents of both at the last comparison.  Before each call that may
 * synchronise, the program's stores are copied to the public copy; after it, data that others have put is copied to the
 * program's memory, as a part of that event.  Bytes that neither side has changed are not touched.  So at each event a
 * replay has exactly the memory of the recording.
 *
 * A program may wait by polling its memory: a thread of ours compares the copies while the program makes no MPI call,
 * and data that it finds is an arrival (arrivals.h).
 *
 * Memory of MPI_Win_allocate_shared is really shared (shared_memory.h), because other processes read it with their own
 * instructions; the real MPI's window is that memory itself.
 */
#pragma once
#include "lower/objects/bytes.h"
#include "lower/objects/staged_read.h"

#define WINDOW_ALL_TARGETS (-1000)

/* Dynamic windows: the public copy of attached memory is so far above it, in every process. */
#define WINDOW_SHIFT 0x100000000000l

/* Epochs of a window, for coordinated checkpoints (coordinated_windows.c); unused otherwise. */
struct epochs {
	uint64_t name; /* on the board; the same in all its ranks */
	int size, *world;
	bool issued;    /* operations were begun that may not be complete */
	bool fenced;    /* after a fence without MPI_MODE_NOSUCCEED */
	bool locked;    /* by MPI_Win_lock_all */
	bool started;   /* from MPI_Win_start to MPI_Win_complete */
	uint8_t *locks; /* by target: 0, or canonical MPI_LOCK_* */
	MPI_Group posted, accessed;
	MPI_Comm comm;        /* that a restart made it with; some MPICHs lose locks of later windows if it is freed */
	bool exposed, closed; /* after MPI_Win_post; closed: exposure ended, and the program has not asked yet */
};

struct vwin {
	struct vobject o;
	int flavor, rank;
	MPI_Comm comm; /* a duplicate, if the real MPI has made the public copy; else MPI_COMM_NULL */
	struct staged_read *first, **last; /* reads under way */
	uint64_t reads;                    /* how many have begun */
	int ranks;                         /* this and the following: of a shared window; the arrays are by rank */
	char *shared;
	size_t shared_bytes;
	MPI_Aint *sizes, *offsets;
	int *units;
	struct epochs epochs;
};

/* A piece of memory of a window.  `upper` and `base` have the same last three bits; `public` is aligned like them to
 * `word`. */
struct window_part {
	struct window_part *next;
	struct vwin *win;
	char *upper, *public, *base;
	size_t len, word; /* word: bytes that are compared and copied as one, 8, 4 or 1 */
	void *own;        /* mapping of the public copy, if it is ours; else NULL */
	size_t own_bytes;
	bool gone; /* the program has unmapped it */
};

static inline struct vwin *win_of(uint64_t id)
{
	return (void *)object_of(RDB_WIN, id);
}
void window_release(struct vobject *win);
struct vwin *window_new(MPI_Win real, int flavor, const struct vcomm *comm, void *upper);
/* Rounds a size up to window_alignment(): MPIs may allocate one block for the ranks of a host, in which the next rank's
 * memory begins behind ours. */
MPI_Aint even_size(MPI_Aint size);

/* windows_shared.c: whether this is memory of a shared window. */
bool windows_share(uint64_t start, uint64_t end);
/* Maps such memory again in a restart; NULL, or the reason of a failure. */
const char *shared_again(MPI_Comm comm, int ranks, int rank, char *at, size_t bytes);

/* rma.c: the first `reads` of the window are complete if they are from this target, or from WINDOW_ALL_TARGETS: delivers
 * them.  Another thread may have begun more while the call that completes them was under way. */
void window_landed(struct vwin *win, int target, uint64_t reads);

/* window_base.c */
/* The real MPI does not move a window that begins at a multiple of this. */
size_t window_alignment(void);
/* Ends the process if the real MPI has moved a window. */
void window_placed(MPI_Win real, const char *public, const char *function);

/* window_memory.c */
extern bool windows_there;
/* The part of this window after `last` (NULL: the first); newest first. */
struct window_part *window_part_next(const struct vwin *win, const struct window_part *last);
/* Makes a part with a public copy of our own, WINDOW_SHIFT above the memory if `shifted`, and initialises the copy.
 * NULL: no memory. */
struct window_part *window_part_new(char *upper, size_t len, bool shifted);
/* Makes a part with a public copy that the real MPI has made. */
struct window_part *window_part_over(char *upper, char *public, size_t len);
void window_part_add(struct window_part *part, struct vwin *win);
void window_part_free(struct window_part *part);
/* Removes a part of this window from the list: that which begins at `upper`, or any.  NULL: there is none. */
struct window_part *window_part_remove(const struct vwin *win, const char *upper, bool any);
/* Notes the ranks in the group of MPI_Win_post or MPI_Win_start; `a`: its arguments. */
void window_epoch(const char *what, const uint64_t *a);
/* To be called before and after each MPI call. */
void windows_before(unsigned index);
void windows_after(unsigned index);
/* Copies data that others have put to the program's memory. */
void windows_take(void);
/* On the way to the cut of a restart: copies are not compared. */
extern bool windows_asleep;
/* Copies the program's memory to the public copies. */
void windows_show(void);
/* The real MPI ends: forgets all parts. */
void windows_end(void);

/* windows_shared.c: saves and loads the memory and the window over it; *win is not an object of a table yet. */
void put_shared(struct bytes *out, const struct vwin *win);
MPI_Win get_shared(struct bytes *in, MPI_Comm comm, int ranks, struct vwin *win, struct window_part **part);

/* A window that is open on the way to the cut of a restart. */
struct open_window {
	struct open_window *next;
	uint32_t id;
	bool fenced, all_locked;
	/* of MPI_Win_allocate_shared: mapping of all ranks' memory, and offset of our own */
	char *shared;
	size_t shared_bytes, offset;
	MPI_Comm comm;
};
/* windows_shared.c: shares memory again that was mapped privately on the way; it must be the same in all ranks. */
const char *restart_shared_cut(const struct open_window *one);
