/* Process ids in a restarted job: its programs know the ids from before the restart. One file holds the table for all
 * processes of the tree, and for those they start later. */
#ifndef RDB_PIDS_H
#define RDB_PIDS_H
#include <signal.h>
#include <stdint.h>

enum { PIDS = 256, PIDS_ALSO = 64 };

struct pid_entry {
	int32_t known, now; /* as the program knows it; as the kernel does, 0: not started yet */
	uint32_t state;     /* restart/tree/tree.h */
	int32_t group;      /* process group as the program knows it; 0: that of the first process */
	int32_t session;    /* session, likewise */
};

struct pids {
	uint32_t n, refused, shared, nalso;
	struct pid_entry list[PIDS];
	/* Ids from before earlier restarts, or of a process that was restarted alone: its children may know them. */
	struct {
		int32_t known, now;
	} also[PIDS_ALSO];
};

/* Maps the table, which the process that starts the restart has made. 0 or -errno. */
int pids_open(const char *path);
struct pids *pids(void); /* NULL: not restarted, or a program without child processes */
const char *pids_path(void);
/* Adds a further id by which a process was known. */
void pids_also(int32_t known, int32_t now);

/* Translate ids, with -N for a group as in system calls. Ids outside the tree stay as they are. */
uint64_t pid_now(uint64_t known);
int32_t pid_known(int32_t now);
/* Translate in the arguments of a call before it is made; in its answer. */
void pids_in(uint64_t nr, uint64_t args[6]);
int64_t pids_out(uint64_t nr, const uint64_t args[6], int64_t result);
/* Translates the sender's id. */
void pids_signal(siginfo_t *info);

#endif
