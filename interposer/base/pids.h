/* Numbers of processes in a job that was restarted: its programs know those from before.  One file has them for all
 * processes of the tree, and for what these start later. */
#ifndef RDB_PIDS_H
#define RDB_PIDS_H
#include <signal.h>
#include "log/parts.h"

enum { PIDS = 256, PIDS_ALSO = 64 };

struct pid_entry {
	int32_t known, now; /* for the program; for the kernel, 0: it is not there yet */
	uint32_t state;     /* restart/tree.h */
	int32_t group;      /* of processes, as the program knows it; 0: that of the first */
	int32_t session;    /* likewise */
};

struct pids {
	uint32_t n, refused, shared, nalso;
	struct pid_entry list[PIDS];
	/* Numbers that a process had before earlier restarts, or of one that was restarted alone: its children may
	 * know them. */
	struct {
		int32_t known, now;
	} also[PIDS_ALSO];
};

/* Made by whoever starts the restart.  0 or -errno. */
int pids_open(const char *path);
struct pids *pids(void); /* NULL: not restarted, or without child processes */
const char *pids_path(void);
/* That process also went by this number. */
void pids_also(int32_t known, int32_t now);

/* As a system call means it: -N is a group.  What is no process of the tree stays as it is. */
uint64_t pid_now(uint64_t known);
int32_t pid_known(int32_t now);
/* In arguments of a call that is about to be made; in its answer. */
void pids_in(uint64_t nr, uint64_t args[6]);
void pids_out(struct event *ev);
/* Who has sent it. */
void pids_signal(siginfo_t *info);

#endif
