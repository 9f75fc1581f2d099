/* Carrying out one upper instruction on a saved context, without leaving the handler.
 *
 * A real step costs a signal (2-11 us here); the common integer, branch, stack and scalar
 * instructions cost some tens of nanoseconds when done here.  Flags are those of the processor
 * itself: arithmetic is executed, not modelled.  What is not known here is executed for real by
 * the caller.
 */
#ifndef RDB_EMULATE_H
#define RDB_EMULATE_H
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum emulation {
	EMU_DONE,    /* the context now stands after it */
	EMU_PLAIN,   /* execute it: it can only go to the next instruction, `len` bytes on */
	EMU_SYSCALL, /* execute it: a system call */
	EMU_GATE,    /* execute it: it goes straight into the lower half */
	EMU_OPAQUE,  /* execute it: no idea where it goes */
};

struct access {
	uint64_t addr;
	uint64_t len;
	bool write; /* else read */
};

struct emulated {
	uint8_t len;
	unsigned naccess; /* memory it touches; for EMU_PLAIN as well as decoding can tell */
	struct access access[4];
};

/* Nothing is changed unless EMU_DONE is returned.  With `only_look` EMU_DONE is never returned. */
enum emulation emulate(ucontext_t *uc, bool only_look, struct emulated *out);

/* If set: called with what an instruction is about to write to, before it is carried out. */
extern void (*emulate_before_store)(uint64_t addr, uint64_t len);
/* Counts the times that the instruction at pc is carried out here, in *left. */
extern struct emulate_counted {
	uint64_t pc;
	int64_t *left;
} emulate_counted;

/* Does uc stand at a string instruction with a repeat prefix? */
bool emulate_at_rep_string(const ucontext_t *uc);

#endif
