/* Instructions as the program knows them, without our breakpoints and patches. */
#pragma once
#include <stdint.h>

struct insn;

/* The instruction at pc, or NULL: it cannot be read or decoded.  Valid until the next call. */
const struct insn *fetch(uint64_t pc);
