/* Between the files of a restart: what is known on the way to the cut. */
#ifndef RDB_VERBS_RESTART_H
#define RDB_VERBS_RESTART_H
#include "numbers.h"
#include "restart_plan.h"

enum { RESTART_GROUPS = 1024 };

extern struct restart {
	bool begun;
	struct plan plan;
	char folder[4096]; /* of the branch */
	struct rdb_host quiet;
	const struct rdb_host *loud;
	struct {
		uint32_t sends, receives; /* posted so far */
	} * counts;                       /* by object */
	uint32_t ncounts;
	struct {
		unsigned index;
		union ibv_gid gid;
	} gids[NUMBERS_GIDS]; /* that the program was told, here or where this is a branch of */
	unsigned ngids, nlids;
	uint16_t lids[NUMBERS_LIDS];
	struct restart_group {
		uint32_t qp;
		uint16_t lid;
		union ibv_gid gid;
	} groups[RESTART_GROUPS]; /* multicast groups that queue pairs are in */
	unsigned ngroups;
} restart;

/* Where there are no devices the software HCA will do, unless devices were asked for. */
const struct verbs_provider *restart_provider(void);

/* restart_follow.c: a recorded call, before and after the log's answer.  NULL, or why it cannot be followed. */
const char *restart_asked(unsigned call, const uint64_t *a, int64_t result);
void restart_answered(unsigned call, const uint64_t *a, int64_t result);

/* restart_requests.c: the program posts these; those of the plan are kept. */
void restart_posted(bool send, const uint64_t *a, int64_t result);
/* And posted again, in the order in which they were.  0 or -errno */
int restart_post_kept(bool send);
bool restart_is_posted_again(const struct plan_request *one);
/* Memory, or the end; with a copy of that in it. */
void *restart_copied(const void *from, size_t len);

/* restart_saved.c: what a branch began with, on disk, for restarts of that branch. */
const char *restart_save(void);
const char *restart_load(const char *folder);

/* restart_cut.c */
const char *restart_cut(void);

#endif
