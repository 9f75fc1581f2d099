#include "seek/arrays_walk.h"

enum { DEEP = 128 }; /* no red-black tree of 2^64 nodes is deeper */

static bool pointer(uint64_t node, int64_t offset, uint64_t *to, arrays_read *read)
{
	return read(node + (uint64_t)offset, to, sizeof(*to));
}

/* In-order successor of *NODE. */
static bool successor(const int64_t *at, uint64_t *node, arrays_read *read)
{
	uint64_t next, from = *node;

	if (!pointer(*node, at[AGENT_TREE_RIGHT], &next, read))
		return false;
	if (next) {
		for (unsigned deep = 0; next; deep++) {
			*node = next;
			if (deep == DEEP || !pointer(*node, at[AGENT_TREE_LEFT], &next, read))
				return false;
		}
		return true;
	}
	for (unsigned deep = 0; deep < DEEP; deep++) {
		if (!pointer(from, at[AGENT_TREE_PARENT], node, read) ||
		    !pointer(*node, at[AGENT_TREE_RIGHT], &next, read))
			return false;
		if (next != from)
			return true;
		from = *node;
	}
	return false;
}

/* Reads N elements, or one member of each, that lie STRIDE bytes apart. */
static bool in_a_row(uint64_t addr, uint64_t stride, size_t size, size_t n, char *to, arrays_read *read)
{
	if (stride == size)
		return read(addr, to, n * size);
	for (size_t i = 0; i < n; i++)
		if (!read(addr + i * stride, to + i * size, size))
			return false;
	return true;
}

static bool blocks(const struct agent_array_operand *operand, uint64_t addr, uint64_t index, size_t size, size_t n,
		   char *to, arrays_read *read)
{
	const int64_t *at = operand->stride;
	uint64_t in_block = (uint64_t)at[AGENT_BLOCK_ELEMENTS], stride = (uint64_t)at[AGENT_BLOCK_STRIDE], block;

	index += (uint64_t)at[AGENT_BLOCK_FIRST];
	while (n) {
		uint64_t skipped = index % in_block;
		size_t here = in_block - skipped < n ? (size_t)(in_block - skipped) : n;
		block = addr;
		if ((operand->walk == AGENT_BLOCKS &&
		     !pointer(addr, (int64_t)(index / in_block * sizeof(block)), &block, read)) ||
		    !in_a_row(block + skipped * stride + (uint64_t)at[AGENT_BLOCK_VALUE], stride, size, here, to, read))
			return false;
		to += here * size;
		index += here;
		n -= here;
	}
	return true;
}

bool arrays_walk(const struct agent_array_operand *operand, uint64_t *addr, uint64_t index, size_t size, size_t n,
		 char *to, arrays_read *read)
{
	const int64_t *at = operand->stride;

	if (operand->walk >= AGENT_BLOCKS)
		return blocks(operand, *addr, index, size, n, to, read);
	for (size_t i = 0; i < n; i++) {
		if (!read(*addr + (uint64_t)at[AGENT_NODE_VALUE], to + i * size, size))
			return false;
		if (operand->walk == AGENT_CHAIN ? !pointer(*addr, at[AGENT_NODE_NEXT], addr, read)
						 : !successor(at, addr, read))
			return false;
	}
	return true;
}
