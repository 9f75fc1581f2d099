/* Windows.  What other ranks read and write is no memory of the program's: each window has a public copy in lower
 * memory, which the real MPI knows, and a base: what both held when they were last compared.  At every call that may
 * synchronise, what the program has stored since goes to the public copy before it, and what others have put there
 * comes to the program's memory after it, as a part of that event; bytes that neither has changed stay alone.  So a
 * replay has at each event what the recording had, to the bit.
 *
 * A program that waits by looking at its memory alone gets what has come as well: a thread of ours compares the copies
 * while the program makes no MPI call, and what it finds is an arrival (arrivals.h).
 *
 * Memory of MPI_Win_allocate_shared is really shared instead (shared_memory.h), because other processes read it with
 * their own instructions; the real MPI's window is that memory itself.
 */
#ifndef RDB_MPI_WINDOWS_H
#define RDB_MPI_WINDOWS_H
#include "inflight.h"

#define WINDOW_ALL_TARGETS (-1000)

/* Of dynamic windows: where the public copy of attached memory lies, so far above it in every process. */
#define WINDOW_SHIFT 0x100000000000l

/* What checkpoints without a log know of a window (together_windows.c); nothing where there are none. */
struct epochs {
	uint64_t name; /* on the board; the same in all its ranks */
	int size, *world;
	bool issued;    /* operations that may not be complete */
	bool fenced;    /* after a fence that others may follow */
	bool locked;    /* by MPI_Win_lock_all */
	bool started;   /* from MPI_Win_start to MPI_Win_complete */
	uint8_t *locks; /* of each target: 0, or MPI_LOCK_* as programs have them */
	MPI_Group posted, accessed;
	MPI_Comm comm;        /* what a restart made it with; some MPICHs lose locks of later windows if it is freed */
	bool exposed, closed; /* from MPI_Win_post on; closed: before the program has asked */
};

struct vwin {
	struct vobject o;
	int flavor, rank;
	MPI_Comm comm; /* a duplicate, where the real MPI has made the public copy */
	struct inflight *first, **last;
	int ranks; /* of a shared window: who has what, from where on */
	char *shared;
	size_t shared_bytes;
	MPI_Aint *sizes, *offsets;
	int *units;
	struct epochs epochs;
};

/* Memory of one window; upper and base agree in their last three bits, public in as many as `word` says. */
struct window_part {
	struct window_part *next;
	struct vwin *win;
	char *upper, *public, *base;
	size_t len, word; /* bytes that are compared and copied as one: 8, 4 or 1 */
	void *own;        /* the public copy's mapping, if it is ours */
	size_t own_bytes;
};

static inline struct vwin *win_of(uint64_t id)
{
	return (void *)object_of(RDB_WIN, id);
}
void window_release(struct vobject *win);
struct vwin *window_new(MPI_Win real, int flavor, const struct vcomm *comm, void *upper);
/* What ranks of one machine have may be one block of memory, in which the next one's begins after ours. */
MPI_Aint even_size(MPI_Aint size);

/* windows_shared.c: is that memory of a shared window?  A restart maps it again; NULL, or why it cannot. */
bool windows_share(uint64_t start, uint64_t end);
const char *shared_again(MPI_Comm comm, int ranks, int rank, char *at, size_t bytes);

/* windows.c: reads from that target, or from all, are complete. */
void window_landed(struct vwin *win, int target);

/* window_base.c */
/* A window that begins at a multiple of it is left there by the real MPI. */
size_t window_alignment(void);
/* Ends the program if it is elsewhere. */
void window_placed(MPI_Win real, const char *public, const char *function);

/* window_memory.c */
extern bool windows_there;
/* The parts of that window, the newest first: the next one after `last`. */
struct window_part *window_part_next(const struct vwin *win, const struct window_part *last);
/* A part whose public copy is ours: `shifted`, at WINDOW_SHIFT above.  Holds what the program's memory holds.  NULL: no
 * memory. */
struct window_part *window_part_new(char *upper, size_t len, bool shifted);
/* The same with a public copy that the real MPI has made. */
struct window_part *window_part_over(char *upper, char *public, size_t len);
void window_part_add(struct window_part *part, struct vwin *win);
void window_part_free(struct window_part *part);
/* Of that window, taken out of the list: the one that begins at `upper`, or any.  NULL: there is none. */
struct window_part *window_part_remove(const struct vwin *win, const char *upper, bool any);
/* Notes which ranks of MPI_COMM_WORLD are in the group of MPI_Win_post or MPI_Win_start, whose arguments these are. */
void window_epoch(const char *what, const uint64_t *a);
/* Around a call of that index; what comes and goes while nobody calls. */
void windows_before(unsigned index);
void windows_after(unsigned index);
int windows_progress(void);
void windows_take(void);
/* On the way of a restart others write nothing, and see nothing. */
extern bool windows_asleep;
/* All that the program's memory holds now is what others see. */
void windows_show(void);
/* The real MPI ends: nothing more comes or goes. */
void windows_end(void);

#endif
