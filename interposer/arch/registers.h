/* The program's registers in a signal context, by their purpose.
 *
 * Read and written: UC_PC, UC_SP, UC_CALL (the number of a system call), UC_RESULT.
 * UC_FLAGS: the condition codes; FLAGS_SEEN: those with a meaning for programs; FLAGS_UNSURE: those that may differ
 * between runs; FLAGS_SPARE: a bit that is not one of them.
 * SYSCALL_BYTES: length of the system call instruction; BREAKPOINT: the opcode of a breakpoint; after its trap pc is
 * BREAKPOINT_PASSED behind it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "arch/x86_64/base/registers.h"

static inline uint64_t uc_pc(const ucontext_t *uc)
{
	return UC_PC(uc);
}

static inline uint64_t uc_sp(const ucontext_t *uc)
{
	return UC_SP(uc);
}

/* The arguments of the system call that uc makes. */
static inline void uc_arguments(const ucontext_t *uc, uint64_t args[6]);
/* General register n, below GENERAL_REGISTERS, as instructions number them. */
static inline uint64_t *uc_general(const ucontext_t *uc, unsigned n);
/* The vector registers that every such processor has, in order: VECTORS_BYTES; NULL: unknown, as at the start of a
 * program. uc_vector_low: the low 8 bytes of register n, below VECTORS. uc_vector_state: VECTOR_STATE bytes with the
 * whole state, or NULL. */
static inline const void *uc_vectors(const ucontext_t *uc);
static inline uint64_t uc_vector_low(const ucontext_t *uc, unsigned n);
static inline const void *uc_vector_state(const ucontext_t *uc);
/* Turns the trap after the next instruction on or off; is it on? */
static inline void uc_step(ucontext_t *uc, bool on);
static inline bool uc_steps(const ucontext_t *uc);
/* Of a memory fault: was it a write?  Was it an instruction fetch? */
static inline bool uc_fault_wrote(const ucontext_t *uc);
static inline bool uc_fault_fetched(const ucontext_t *uc);
/* Ends the checks of alignment that the program may have turned on, until its flags are put back. */
static inline void alignment_checks_off(void);
/* Clears what the context says about a fault. */
static inline void uc_no_fault(ucontext_t *uc);
/* Initialises the context of a thread that starts. */
static inline void uc_begin(ucontext_t *uc);
/* Copies all registers except the vector state, which `to` then shares with `from`. */
static inline void uc_share(ucontext_t *to, const ucontext_t *from);
