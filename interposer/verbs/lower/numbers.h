/* Numbers that programs tell each other: QP numbers, memory keys, LIDs and GIDs.  After a restart the program keeps
 * using the numbers it knows ("shown"); rebind.c maps them to the provider's numbers ("lower") and back.  Before a
 * restart both are equal. */
#pragma once
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { NUMBERS_NO_RANK = -1, NUMBERS_GIDS = 32, NUMBERS_LIDS = 8 };

/* NUMBER_WINDOW: rkeys of windows.  Each bind changes the low 8 bits, so the upper 24 are mapped and the low 8 keep
 * their distance. */
enum number_kind { NUMBER_QP, NUMBER_LKEY, NUMBER_RKEY, NUMBER_WINDOW };

extern bool numbers_rebound; /* true after a restart */

/* Numbers of this rank; a number that is not in the table is returned as it is. */
uint32_t number_lower(enum number_kind kind, uint32_t shown);
uint32_t number_shown(enum number_kind kind, uint32_t lower);
/* rkey of another rank; NUMBERS_NO_RANK: of the only rank that has it. */
uint32_t number_rkey_of(int rank, uint32_t shown);
/* QP number of any rank. */
uint32_t number_peer_shown(uint32_t lower);
/* Finds the rank that has this queue pair, and changes *number and *address to the current ones.  Returns the rank or
 * NUMBERS_NO_RANK. */
int number_peer(uint32_t *number, struct ibv_ah_attr *address);
/* Changes an address alone: to that of the first rank that was there. */
void number_address(struct ibv_ah_attr *address);
/* Whether a new object may have this number: no other object is shown under it (lkeys: in this rank; others: in the
 * job). */
bool number_free(enum number_kind kind, uint32_t number);
/* The object with this number was destroyed. */
void number_forget(enum number_kind kind, uint32_t shown);

static inline uint32_t lower_lkey(uint32_t shown)
{
	return numbers_rebound ? number_lower(NUMBER_LKEY, shown) : shown;
}

/* An rkey of this rank. */
static inline uint32_t lower_own_rkey(uint32_t shown)
{
	return numbers_rebound ? number_lower(NUMBER_RKEY, shown) : shown;
}

/* An rkey of another rank. */
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

/* ---- filled by a restart ---- */

void number_bind(enum number_kind kind, uint32_t shown, uint32_t lower);
/* Earlier and current addresses of this rank. */
void numbers_bind_port(const uint16_t *was_lids, unsigned nlids, uint16_t lid, bool ethernet);
void numbers_bind_gid(unsigned index, const union ibv_gid *was, unsigned now_index, const union ibv_gid *now);
/* Writes this rank's numbers to a file in `folder` and reads those of the other ranks.  NULL, or the reason of a
 * failure. */
const char *numbers_exchange(const char *folder, int rank, const int *ranks, unsigned nranks);
/* Only reads the other ranks' numbers: this rank has none. */
const char *numbers_learn(const char *folder, const int *ranks, unsigned nranks);
/* A barrier of the ranks, by files `what`-RANK in `folder`.  NULL, or the reason of a failure. */
struct numbers_meeting {
	int rank;
	const int *ranks;
	unsigned nranks;
	void (*meanwhile)(void); /* called while waiting; may be NULL */
	const unsigned *before;  /* this rank arrives when this is 0; may be NULL */
};
const char *numbers_meet(const char *folder, const char *what, const struct numbers_meeting *all);
