/* Entering and leaving the upper half (gate.S). */
#pragma once
#include "base/thread.h"

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
/* uc stands behind a system call that has not been made: removes from its registers what the processor put there and
 * the program does not have (a trap flag for a step).  Ends the recording if the call is a 32-bit one. */
void uc_at_syscall(ucontext_t *uc, const siginfo_t *info);
/* The start call is no system call of the program: makes uc as if it had not been. */
void uc_forget_syscall(ucontext_t *uc);

/* Saves the stack pointer in *save_sp, and goes on on a stack that was left in the same way. */
void coroutine_switch(uint64_t *save_sp, uint64_t load_sp);

/* First bytes of the code page (RDB_GATE_CODE), copied there. */
extern const uint8_t gate_code_start[], gate_code_end[];
#define GATE_START_CALL 0x52444230 /* number of the "system call" made there */
