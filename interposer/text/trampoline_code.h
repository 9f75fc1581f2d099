/* Writing the code of a trampoline: what is displaced, comparisons, copies at other addresses. */
#ifndef RDB_TRAMPOLINE_CODE_H
#define RDB_TRAMPOLINE_CODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "text/decode.h"

enum { PATCH = 5, DISPLACED = 5, STEPS = 512, CODE_ROOM = 4096 };

/* The instructions that a patch of PATCH bytes at pc displaces. */
struct plan {
	uint64_t pc, next; /* the first instruction after them */
	unsigned n;
	bool ends; /* the last one never goes on to `next` */
	struct insn in[DISPLACED];
	uint64_t from[DISPLACED], copy[DISPLACED];
	bool stops[DISPLACED]; /* a breakpoint is there: its int3 is in the copy */
	uint64_t low, high;    /* where the trampoline reaches all their operands */
};

/* 0 or -ENOTSUP. */
int plan_make(uint64_t pc, struct plan *p);
/* Wherever a displaced instruction begins, the jump's distance has such a byte. */
bool trampoline_byte_faults(uint8_t byte);
/* Could a patch be put at pc, as far as the instructions there tell?  starts: of those in the middle, where
 * a jump would cost a trap. */
bool trampoline_possible(uint64_t pc, uint64_t starts[4], unsigned *nstarts);

/* Shared by trampoline code and handlers, on a page without code (a store near executed code is slow). */
struct trampoline_data {
	uint64_t rcx, rax, target;
	int64_t left;          /* counts up to 0; of a site in spin_sites.c: arrivals since that event */
	uint64_t event, quiet; /* there, too: if it is not 0, an arrival goes on */
};

enum { RESTORE_RCX = 1, RESTORE_RAX = 2, UNCOUNT = 4 };
enum leave {
	LEAVE_BACK,   /* to the place: nothing has happened yet */
	LEAVE_TO,     /* to `addr`: all before it has happened */
	LEAVE_TARGET, /* to the address in data.target */
};

/* One machine instruction of ours: how to undo what comes before it. */
struct step {
	uint32_t off;
	uint8_t how, restore;
	uint64_t addr;
};

struct code {
	uint8_t *start, *at, *end;
	struct trampoline_data *data;
	bool failed; /* no room, or out of reach */
	unsigned nsteps;
	struct step steps[STEPS];
};

/* Appends code that goes to `miss` unless gpr n, or the word at addr, has the value; with `hit` (an
 * address shortly before) it goes there if so, and falls through if not.  rcx is in data. */
void code_save_rcx(struct code *c);
void code_restore_rcx(struct code *c, uint8_t restore);
void code_compare_register(struct code *c, unsigned n, uint64_t value);
void code_compare_vector(struct code *c, unsigned n, uint64_t low);
void code_compare_word(struct code *c, uint64_t addr, uint64_t value);
void code_count(struct code *c);
/* The same, from 0 on if *event is another one than at the arrival before. */
void code_count_since(struct code *c, const uint64_t *event);
/* Appends code that goes to `hit` if the data's `quiet` is 0, as code_if_zero. */
void code_unless_quiet(struct code *c, const uint8_t *hit);
/* Leaves through the pointer at `gate`: rcx is then the address of the data, which has rax and rcx. */
void code_leave(struct code *c, uint64_t gate);
/* rcx is 0 after a comparison that holds. */
void code_if_zero(struct code *c, const uint8_t *hit, uint8_t restore);
void code_unless_zero(struct code *c, const uint8_t *miss);
void code_jump(struct code *c, const uint8_t *to, uint8_t restore);
void code_trap(struct code *c, uint8_t restore);
/* The displaced instructions and the way back.  `first`: how to leave at the first one, which has not happened yet. */
void code_displaced(struct code *c, struct plan *p, uint8_t first);

#endif
