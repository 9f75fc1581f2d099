/* Process ids in a restarted job: its programs know the ids from before the restart, and each other process by an id
 * that is none of these.  One file holds the table for all processes of the tree, and for those they start later. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum { PIDS = 256, PIDS_ALSO = 4096 };

struct pid_entry {
	int32_t known, now; /* as the program knows it; as the kernel does, 0: not started yet */
	uint32_t state;     /* restart/tree/tree.h */
	int32_t group;      /* process group as the program knows it; 0: that of the first process */
	int32_t session;    /* session, likewise */
};

struct pid_pair {
	int32_t known, now; /* 0, 0: not known */
};

struct pids {
	uint32_t n, refused, shared, nthreads;
	struct pid_entry list[PIDS];
	/* What the first process knows of the world outside of the tree. */
	struct pid_pair parent, group, session;
	int32_t threads[PIDS_ALSO]; /* ids of restored threads, which nothing else gets */
};

/* Maps the table, which the process that starts the restart has made. 0 or -errno. */
int pids_open(const char *path);
struct pids *pids(void); /* NULL: not restarted */
const char *pids_path(void);
/* The program knows a thread by this id. */
void pids_thread(int32_t known);

/* Translate ids, with -N for a group as in system calls.  A process that the table does not have keeps its number, unless
 * the program knows something else by it. */
uint64_t pid_now(uint64_t known);
int32_t pid_known(int32_t now);
/* The same for what getppid(2), getpgid(2) and getsid(2) answer. */
int32_t pid_parent_known(int32_t now);
int32_t pid_group_known(int32_t now);
int32_t pid_session_known(int32_t now);
/* Has the signal's sender an id there? */
bool pid_of_signal(const siginfo_t *info);
/* Translates the sender's id: of a signal that has come; before it goes back to the kernel. */
void pids_signal(siginfo_t *info);
void pids_signal_now(siginfo_t *info);
