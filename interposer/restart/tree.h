/* A restart of a program that has child processes.  Each is a recording of its own; the replay of the parent makes the
 * child for real where the log says that it forked (so it is its parent's, for wait(2)), with what it had open, and the
 * child is then rdb-exec with that recording.  Those that replaced themselves do so again.  At the cut all wait for each
 * other: none may go live before all are as they were, or say why they cannot be.
 *
 * What is to be made is in files of the branch's directory `tree-RANK` (rdb/live/tree/plan.py): PROCESS-PROGRAM-EVENT, the
 * command line of the child that the program forks there; PROCESS-PROGRAM-next, of the program that comes next;
 * PROCESS-0-begin-K, of those that a branch had when it began; PROCESS-0-session, how many of them its session does not
 * have; pids. */
#ifndef RDB_TREE_H
#define RDB_TREE_H
#include "crossing/event.h"

enum tree_state {
	TREE_REPLAYS = 0,
	TREE_AT_CUT = 1,
	TREE_FILLED = 2,
	TREE_SHARED = 3,
	TREE_OPENED = 4,
	TREE_LIVE = 5,
	TREE_ENDED = 9
};

static inline bool tree(void)
{
	return lower.opt.tree != NULL;
}

/* Before the replay.  0 or -errno. */
int tree_begin(void);
/* What this process inherited from the one that started it.  False: it is the first. */
bool tree_inherited(void);
/* A fork that the log has answered. */
void tree_forked(const struct event *ev);
/* setpgid(2), setsid(2). */
void tree_grouped(const struct event *ev);
/* Where the replay is over: another program takes this one's place, or it ends; returns if this is the cut. */
void tree_at_end(void);
/* Then; when its files are open again, the last that may fail; and when the program is live. */
void tree_at_cut(void);
void tree_opened(void);
void tree_go(void);
/* It cannot be brought back: then none can. */
void tree_refused(void);
bool tree_is_refused(void);

/* tree_share.c: open files that several processes have: made where they begin to be shared, not at the cut. */
struct opened;
void tree_share(void);
void tree_moved(struct opened *f, const void *bytes, uint64_t done, bool writing);
/* Its flags were set, by fcntl(2). */
void tree_flagged(struct opened *f);
/* Which flags it has set is written down. */
void tree_share_modes(void);
/* All have told (tree_streams.h): pipes have in them again what was in them, and files are where they were. */
void tree_share_fill(void);
/* What the program has closed is closed, too. */
void tree_share_close(void);
/* tree.c: the place of one in the list of all that are shared, from 1. */
unsigned tree_shared_number(void);

#endif
