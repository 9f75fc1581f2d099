/* Entering and leaving the upper half (gate.S). */
#ifndef RDB_GATE_ASM_H
#define RDB_GATE_ASM_H
#include <stdint.h>
#include "base/layout.h"

/* What the upper half had when it called the gate; lies on the lower stack. */
struct gate_frame {
	uint64_t fs_base;
	uint64_t r15, r14, r13, r12, rbp, rbx;
	uint64_t rsp; /* points at the return address */
	uint64_t fn, nargs, args;
};

/* One for each thread, at the address in its GS base; shared with gate.S by these offsets. */
struct gate_state {
	uint64_t lower_sp;  /*  0: where the next hypercall puts its frame */
	uint64_t lower_fs;  /*  8: the lower half's thread pointer */
	uint64_t trap;      /* 16: nonzero: SIGTRAP at the first upper instruction after leaving */
	uint64_t avx512;    /* 24: nonzero: there is AVX-512 state to clear on return */
	uint64_t upcall_sp; /* 32: lower stack of the innermost upcall */
	uint64_t go_on;     /* 40: hot_gate.S: where it leaves to */
	uint64_t vectors;   /* 48: nonzero: vector state may be left as it is, nothing is recorded */
};

/* The function behind GATE->call. */
int64_t gate_entry(uint32_t fn, uint32_t nargs, const uint64_t *args);
/* Where an upcalled function comes back to, through the gate's code page. */
void gate_upcall_return(void);
/* Leaves the lower half for good: jumps to pc with rsp = sp, all other registers zero. */
void gate_enter(uint64_t pc, uint64_t sp) __attribute__((noreturn));
/* gate_enter() that comes back, when a handler has returned to gate_carry_end with rsp = *save_sp. */
void gate_carry(uint64_t *save_sp, uint64_t pc, uint64_t sp);
extern const char gate_carry_end[];
/* Calls upper function fn with up to 6 arguments on the upper stack below the caller's frame. */
uint64_t gate_upcall(const struct gate_frame *frame, uint64_t fn, const uint64_t args[6]);

/* C side of gate_entry, on the lower stack with the lower thread pointer. */
int64_t boundary_hypercall(uint32_t fn, uint32_t nargs, const uint64_t *args, struct gate_frame *frame);

/* Leaves the present stack, whose pointer goes to *save_sp, for one that was left in the same way. */
void coroutine_switch(uint64_t *save_sp, uint64_t load_sp);

/* First bytes of the code page (RDB_GATE_CODE), copied there. */
extern const uint8_t gate_code_start[], gate_code_end[];
#define GATE_START_CALL 0x52444230 /* number of the "system call" made there */

#endif
