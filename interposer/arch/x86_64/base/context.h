#pragma once
#include <stdint.h>
#include <ucontext.h>

struct context {
	uint64_t gregs[23];
	uint32_t xsave_len;
	uint32_t reserved;
	uint8_t xsave[8192]; /* standard format (Intel SDM vol. 1, 13.4); at a multiple of 64 */
};

static inline uint64_t context_sp(const struct context *c)
{
	return c->gregs[REG_RSP];
}

static inline void context_child(struct context *c, uint64_t stack)
{
	c->gregs[REG_RAX] = 0;
	if (stack)
		c->gregs[REG_RSP] = stack;
}
