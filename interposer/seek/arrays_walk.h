/* Elements of containers whose parts lie apart: the nodes of a list or a tree, the blocks of a deque. */
#ifndef RDB_ARRAYS_WALK_H
#define RDB_ARRAYS_WALK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "seek/agent.h"

/* LEN bytes of the program; false: they cannot be read. */
typedef bool arrays_read(uint64_t addr, void *to, size_t len);

/* N elements of SIZE bytes, one behind the other, into TO: of the blocks those from INDEX on, else those from the node
 * *ADDR on, which becomes the node behind them.  False: *addr cannot be read, or leads nowhere. */
bool arrays_walk(const struct agent_array_operand *operand, uint64_t *addr, uint64_t index, size_t size, size_t n,
		 char *to, arrays_read *read);

#endif
