/* The two words of the board that several processes write.  Python calls these functions, too (librdblog). */
#define RDB_BOARD_OWNER
#include "restart/checkpoint/board.h"
#include <stdio.h>

bool board_want(struct board *b, uint64_t generation)
{
	uint64_t now = board_wanted(b);
	while (now < generation)
		if (__atomic_compare_exchange_n(&b->wanted, &now, generation, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
	return false;
}

bool board_decide(struct board *b, uint64_t generation, enum board_verdict verdict, const char *why)
{
	uint64_t now = __atomic_load_n(&b->verdict, __ATOMIC_ACQUIRE), next = generation << 2 | verdict;
	if (why && board_verdict(b, generation) == BOARD_OPEN)
		snprintf(b->why, sizeof(b->why), "%s", why);
	while (now >> 2 < generation)
		if (__atomic_compare_exchange_n(&b->verdict, &now, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
	return now == next;
}
