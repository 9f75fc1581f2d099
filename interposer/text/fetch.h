/* Instructions as the program knows them, without breakpoints and patches of ours. */
#ifndef RDB_FETCH_H
#define RDB_FETCH_H
#include <stdint.h>

struct insn;

/* The instruction at pc, or NULL: none that can be read and decoded.  Good until the next call. */
const struct insn *fetch(uint64_t pc);

#endif
