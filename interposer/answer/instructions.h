/* Instructions whose result differs from run to run: those that read the processor's counter, return random numbers, or
 * identify the processor.  They are made to trap, or patched when code is mapped, and answered as events. */
#pragma once
#include "base/lower.h"
#include "text/traps.h"

/* Executable bytes of a file that have just been mapped. */
struct text {
	uint64_t at;
	size_t len;
	const char *name;
	int fd;
	uint64_t offset;
	bool mixed; /* writable: mixed with data, so only what is surely an instruction is patched */
};
/* Patches these instructions there, and notes what was found. */
void instructions_look(const struct text *t);
/* Likewise for text that the program has made.  Counter reads there are not patched: if there is one, they trap from
 * now on. */
void instructions_look_made(uint64_t start, uint64_t end);
/* Does the text hold such an instruction that was not found then, and does not trap? */
bool instructions_left(const uint8_t *begin, const uint8_t *end);
/* If the fault is at such an instruction: answers the event and goes on after it.  False: another fault. */
bool instructions_fault(int sig, const siginfo_t *info, ucontext_t *uc);
/* Changes one byte of text. */
void instructions_patch(uint8_t *op, uint8_t to);
