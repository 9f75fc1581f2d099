/* Instructions whose answer differs from run to run: rdtsc, rdrand, rdseed (and CPUID: cpuid_events.h).
 *
 * rdtsc can be made to fault (PR_SET_TSC, prctl(2)).  rdrand and rdseed cannot, where CPUID cannot be made
 * to hide them; confirmed ones are patched when code is mapped: 0F C7 /6 and /7 (register form) become
 * 0F B9 (UD1, Intel SDM vol. 2), which has the same length and operand and faults with SIGILL.
 */
#ifndef RDB_INSTRUCTIONS_H
#define RDB_INSTRUCTIONS_H
#include "base/lower.h"
#include "text/traps.h"

/* New executable bytes of a file. */
struct text {
	uint64_t at;
	size_t len;
	const char *name;
	int fd;
	uint64_t offset;
	bool mixed; /* may be written to: data lies between them, and only what is surely an instruction is taken for one */
};
/* Patches and notes what they hold. */
void instructions_look(const struct text *t);
/* The same for text that the program has made: none of its rdtsc are patched, so if there is one they trap from here on. */
void instructions_look_made(uint64_t start, uint64_t end);
/* Is there one that was not found then, and does not trap? */
bool instructions_left(const uint8_t *begin, const uint8_t *end);
/* A fault at an instruction of ours: answers the event and goes on after it.  False: not ours. */
bool instructions_fault(int sig, const siginfo_t *info, ucontext_t *uc);
/* Changes one byte of text. */
void instructions_patch(uint8_t *op, uint8_t to);

#endif
