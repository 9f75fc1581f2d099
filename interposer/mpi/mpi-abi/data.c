/* Specific to the standard ABI. */
#include "shim.h"

const void *shim_weights_in(const void *weights)
{
	enum { UNWEIGHTED = 10, WEIGHTS_EMPTY = 11, CORE_UNWEIGHTED = 2, CORE_WEIGHTS_EMPTY = 3 };

	switch ((uintptr_t)weights) {
	case UNWEIGHTED: return (const void *)CORE_UNWEIGHTED;
	case WEIGHTS_EMPTY: return (const void *)CORE_WEIGHTS_EMPTY;
	default: return weights;
	}
}
