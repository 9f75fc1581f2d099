#include "vector.h"

bool vector_emulate(ucontext_t *uc, const struct insn *in, uint64_t addr, struct emulated *out)
{
	return false;
}
