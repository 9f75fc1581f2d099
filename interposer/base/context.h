/* The registers of a stopped thread, as they are kept in images and between threads. */
#ifndef RDB_CONTEXT_H
#define RDB_CONTEXT_H
#include <stdint.h>
#include <ucontext.h>

#define UC_REG(uc, r) (*(uint64_t *)&(uc)->uc_mcontext.gregs[REG_##r])
#define EFLAGS_TF 0x100ul
#define EFLAGS_RF 0x10000ul

struct context {
	uint64_t gregs[23];
	uint32_t xsave_len;
	uint32_t reserved;
	uint8_t xsave[8192]; /* standard format (Intel SDM vol. 1, 13.4); at a multiple of 64 */
};

void context_save(struct context *c, const ucontext_t *uc);
/* General registers, rip, flags and vector state; segment selectors and the kernel's own words stay. */
void context_load(ucontext_t *uc, const struct context *c);

#endif
