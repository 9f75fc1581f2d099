/* Elements of containers that are not contiguous: the nodes of a list or a tree, the blocks of a deque. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "interface/agent.h"

/* Reads LEN bytes of the program.  False: they cannot be read. */
typedef bool arrays_read(uint64_t addr, void *to, size_t len);

/* Reads N elements of SIZE bytes into TO.  From blocks: those from INDEX on.  From nodes: those from node *ADDR on,
 * which becomes the node after them.  False: *addr cannot be read, or its links are not those of a tree. */
bool arrays_walk(const struct agent_array_operand *operand, uint64_t *addr, uint64_t index, size_t size, size_t n,
		 char *to, arrays_read *read);
