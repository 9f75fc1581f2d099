/* Carries out one upper instruction on a saved context, without leaving the handler.
 *
 * A real step costs a signal (2-11 us here); the common integer, branch, stack and scalar instructions cost some tens
 * of nanoseconds here.  Flags are the processor's own: arithmetic is executed, not modelled.  The caller executes
 * unknown instructions for real.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum emulation {
	EMU_DONE,    /* done: the context is after the instruction */
	EMU_PLAIN,   /* execute it: it continues at the next instruction, `len` bytes on */
	EMU_SYSCALL, /* execute it: a system call */
	EMU_GATE,    /* execute it: it enters the lower half */
	EMU_OPAQUE,  /* execute it: unknown where it continues */
};

struct access {
	uint64_t addr;
	uint64_t len;
	bool write; /* else read */
};

struct emulated {
	uint8_t len;
	unsigned naccess; /* accesses to memory; for EMU_PLAIN as far as decoding can tell */
	struct access access[4];
};

/* Nothing is changed unless EMU_DONE is returned.  With `only_look` EMU_DONE is never returned. */
enum emulation emulate(ucontext_t *uc, bool only_look, struct emulated *out);

/* If set: called with the memory that an instruction is about to write. */
extern void (*emulate_before_store)(uint64_t addr, uint64_t len);
/* While pc is set: each time the instruction at pc is carried out here, counts it in *left. */
extern struct emulate_counted {
	uint64_t pc;
	int64_t *left;
} emulate_counted;

/* Is uc at a string instruction with a repeat prefix? */
bool emulate_at_rep_string(const ucontext_t *uc);
