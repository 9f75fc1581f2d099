/* State that the files of a restart share on the way to the cut. */
#pragma once
#include "numbers.h"
#include "restart_plan.h"

enum { RESTART_GROUPS = 1024 };

extern struct restart {
	bool begun;
	struct plan plan;
	char folder[4096];           /* of the branch */
	struct rdb_host quiet;       /* a copy of the host that logs nothing; used until the cut */
	const struct rdb_host *loud; /* the host itself */
	struct {
		uint32_t sends, receives; /* posted so far */
	} * counts;                       /* by object */
	uint32_t ncounts;
	struct {
		unsigned index;
		union ibv_gid gid;
	} gids[NUMBERS_GIDS]; /* that the program was told, in this recording or in one it is a branch of */
	unsigned ngids, nlids;
	uint16_t lids[NUMBERS_LIDS];
	struct restart_group {
		uint32_t qp;
		uint16_t lid;
		union ibv_gid gid;
	} groups[RESTART_GROUPS]; /* multicast groups of queue pairs */
	unsigned ngroups;
} restart;

/* The chosen provider, or the software HCA if there are no devices and none were asked for.  NULL: none. */
const struct verbs_provider *restart_provider(void);

/* restart_follow.c: a recorded call, before and after the log's answer is applied.  NULL, or why it cannot be
 * followed. */
const char *restart_asked(unsigned call, const uint64_t *a, int64_t result);
void restart_answered(unsigned call, const uint64_t *a, int64_t result);

/* restart_requests.c: a recorded post; copies the requests that the plan names. */
void restart_posted(bool send, const uint64_t *a, int64_t result);
/* Posts the copies again, in their order.  0 or -errno */
int restart_post_kept(bool send);
bool restart_is_posted_again(const struct plan_request *one);
/* A copy of `from` on the heap; ends the process if there is no memory. */
void *restart_copied(const void *from, size_t len);

/* restart_saved.c: saves the state at the beginning of a branch, and loads it for restarts of this branch. */
const char *restart_save(void);
const char *restart_load(const char *folder);

/* restart_cut.c */
const char *restart_cut(void);
