/* Hot system calls: those before which the C library gives the number in one instruction.
 *
 * A system call by SIGSYS costs more than a microsecond, two crossings of the kernel with all registers.  When libc is
 * mapped, before event 0, that instruction of such a site (nothing jumps into it) is replaced by a jump to a stub,
 * which does the same and jumps through the gate.  The instruction of the system call stays where it is.  In the
 * recording the gate is hot_gate: it does what SIGSYS would, on a context that looks like the one of a SIGSYS, and goes
 * on behind the instruction.  Wherever that is not so simple, and in every replay, the gate jumps to that instruction
 * instead, and SIGSYS comes as ever: both ways leave the same registers and memory, so it does not matter which is
 * taken, nor that a replay takes the other.
 *
 * Patches and stubs are upper memory, and in the first image, which is all that a replay knows of them.  What they look
 * like there, and that no debugger sees them, is hot_stubs.h.  RDB_HOT_SITES=0 leaves the text alone.
 */
#pragma once
#include "base/lower.h"

/* New executable bytes of the file `path` at `at`. */
void hot_sites_look(uint64_t at, size_t len, const char *path);
/* uc is a signal frame of the kernel: learns its layout for the contexts that we make. */
void hot_sites_learn(const ucontext_t *uc);

/* Where the stubs jump: an address for the gate page. */
void (*hot_sites_entry(void))(void);
/* hot_gate.S */
void hot_gate(void);
/* Its C side (context_gate.inc), on the lower stack with the lower thread pointer; uc is what the program goes on
 * with.  Takes the program's thread pointer and returns it as it is now. */
uint64_t hot_syscall(ucontext_t *uc, uint64_t tls);

struct thread;
/* May an event be answered without a signal, on a context that a gate has made? */
bool hot_context_will_do(const struct thread *self);
/* An event is answered on such a context between hot_enter() and hot_leave().  The first returns what the thread was
 * in, for the second, which returns the program's thread pointer. */
struct hot_outer {
	struct gate_frame *frame;
	ucontext_t *uc;
};
struct hot_outer hot_enter(struct thread *self, ucontext_t *uc);
uint64_t hot_leave(struct thread *self, ucontext_t *uc, struct hot_outer outer);
/* The same where no event was made: no place for a signal. */
void hot_leave_unasked(struct thread *self, struct hot_outer outer);
