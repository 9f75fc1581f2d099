/* A restart of a program that has child processes.  Each process is a recording of its own.  The replay of the parent
 * makes the child for real where the log says that it forked, with what the parent had open; so wait(2) works.  The
 * child is then rdb-exec with its own recording.  Processes that replaced themselves do so again.  At the cut all wait
 * for each other: none may go live before all are as they were, or say why they cannot be.
 *
 * Files of the branch's directory `tree-RANK` say what is to be made (rdb/live/tree/plan.py): PROCESS-PROGRAM-EVENT,
 * the command line of the child that the program forks there; PROCESS-PROGRAM-next, that of the next program;
 * PROCESS-0-begin-K, those of children that a branch had when it began; PROCESS-0-session, how many of these its
 * session does not have; pids. */
#pragma once
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

/* Before the replay.  0 or -errno. */
int tree_begin(void);
/* Takes what this process inherited from the one that started it.  False: it is the first. */
bool tree_inherited(void);
/* The log has answered a fork: makes the child. */
void tree_forked(const struct event *ev);
/* setpgid(2), setsid(2). */
void tree_grouped(const struct event *ev);
/* The replay is over: becomes the next program, or ends as recorded; returns if this is the cut. */
void tree_at_end(void);
/* At the cut; when its files are open again, the last that may fail; when the program is live. */
void tree_at_cut(void);
void tree_opened(void);
void tree_go(void);
