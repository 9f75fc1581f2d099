/* Numbers that programs tell each other: QP numbers, memory keys, LIDs and GIDs.  The program keeps those that it was
 * given first; what the provider calls the same thing now is found here (rebind.c).  Before a restart they are equal. */
#ifndef RDB_VERBS_NUMBERS_H
#define RDB_VERBS_NUMBERS_H
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { NUMBERS_NO_RANK = -1, NUMBERS_GIDS = 32, NUMBERS_LIDS = 8 };

/* WINDOW: of keys that change with each bind, a number in the upper 24 bits and how far the lower 8 have come */
enum number_kind { NUMBER_QP, NUMBER_LKEY, NUMBER_RKEY, NUMBER_WINDOW };

extern bool numbers_rebound; /* after a restart */

uint32_t number_lower(enum number_kind kind, uint32_t shown);
uint32_t number_shown(enum number_kind kind, uint32_t lower);
uint32_t number_rkey_of(int rank, uint32_t shown);
uint32_t number_peer_shown(uint32_t lower);
/* Which rank has this queue pair; where it is now goes to *number and *address. */
int number_peer(uint32_t *number, struct ibv_ah_attr *address);
/* The same for an address alone: of the first rank that was there. */
void number_address(struct ibv_ah_attr *address);
/* Nobody in the job calls something else so: a new object may. */
bool number_free(enum number_kind kind, uint32_t number);
/* The object is gone. */
void number_forget(enum number_kind kind, uint32_t shown);

static inline uint32_t lower_lkey(uint32_t shown)
{
	return numbers_rebound ? number_lower(NUMBER_LKEY, shown) : shown;
}

/* A key of ours. */
static inline uint32_t lower_own_rkey(uint32_t shown)
{
	return numbers_rebound ? number_lower(NUMBER_RKEY, shown) : shown;
}

/* A key of that rank's. */
static inline uint32_t lower_rkey(int rank, uint32_t shown)
{
	return numbers_rebound ? number_rkey_of(rank, shown) : shown;
}

static inline uint32_t shown_qp_number(uint32_t lower)
{
	return numbers_rebound ? number_shown(NUMBER_QP, lower) : lower;
}

static inline uint32_t shown_peer_number(uint32_t lower)
{
	return numbers_rebound ? number_peer_shown(lower) : lower;
}

/* ---- a restart tells what is what now ---- */

void number_bind(enum number_kind kind, uint32_t shown, uint32_t lower);
/* Where this rank was and is. */
void numbers_bind_port(const uint16_t *was_lids, unsigned nlids, uint16_t lid, bool ethernet);
void numbers_bind_gid(unsigned index, const union ibv_gid *was, unsigned now_index, const union ibv_gid *now);
/* To the ranks of the job, and from them; a file for each in `folder`, for now.  NULL, or why not. */
const char *numbers_exchange(const char *folder, int rank, const int *ranks, unsigned nranks);
/* Only from them: this rank had none of its own. */
const char *numbers_learn(const char *folder, const int *ranks, unsigned nranks);
/* All have come to this line.  An agent of the node could do the same without files. */
struct numbers_meeting {
	int rank;
	const int *ranks;
	unsigned nranks;
	void (*meanwhile)(void); /* may be NULL */
	const unsigned *before;  /* we have come when this is 0; may be NULL */
};
const char *numbers_meet(const char *folder, const char *what, const struct numbers_meeting *all);

#endif
