#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "arch/insn.h"

enum { PATCH = 5, DISPLACED = 5, STEPS = 512, CODE_ROOM = 4096 };

/* The instructions that a patch of PATCH bytes at pc displaces. */
struct plan {
	uint64_t pc, next; /* the first instruction after them */
	unsigned n;
	bool ends; /* the last one never continues at `next` */
	struct insn in[DISPLACED];
	uint64_t from[DISPLACED], copy[DISPLACED];
	bool stops[DISPLACED]; /* a breakpoint is there; the copy contains its int3 */
	uint64_t low, high;    /* range from which the trampoline reaches all their operands */
};

/* Shared by trampoline code and handlers, on a page without code (a store near executed code is slow). */
struct trampoline_data {
	uint64_t rcx, rax, target;
	int64_t left; /* counts up to 0; in spin_sites.c: arrivals since `event` */
	/* in spin_sites.c: */
	uint64_t event;
	uint64_t quiet; /* nonzero: arrivals are counted only */
	uint64_t skip;  /* so many arrivals more are counted only */
};

enum { RESTORE_RCX = 1, RESTORE_RAX = 2, UNCOUNT = 4 };
enum leave {
	LEAVE_BACK,   /* to pc: nothing has happened yet */
	LEAVE_TO,     /* to `addr`: everything before it has happened */
	LEAVE_TARGET, /* to the address in data.target */
};

/* One machine instruction of ours: how to undo the ones before it. */
struct step {
	uint32_t off;
	uint8_t how, restore;
	uint64_t addr;
};

struct code {
	uint8_t *start, *at, *end;
	struct trampoline_data *data;
	bool failed; /* no room left, or a target out of reach */
	unsigned nsteps;
	struct step steps[STEPS];
};
