#include <stdint.h>
#include <string.h>
#include "base/xstate.h"

/* asm/sigcontext.h: struct _fpx_sw_bytes, in the bytes of FXSAVE that the processor leaves alone.  Intel SDM
 * vol. 1, 13.4: the header follows the 512 bytes of FXSAVE, AVX the header; what comes after lies elsewhere
 * on other CPUs. */
enum { SW_BYTES = 464, LEGACY = 512, AVX = 576, AVX_LEN = 256, MAGIC2_LEN = 4 };
enum { FEATURES_X87_SSE = 3, FEATURE_AVX = 4 };

struct sw_bytes {
	uint32_t magic, extended_size;
	uint64_t features;
};

static struct sw_bytes sw_bytes_of(const uint8_t *frame)
{
	struct sw_bytes sw;
	memcpy(&sw, frame + SW_BYTES, sizeof(sw));
	if (sw.magic != 0x46505853 /* FP_XSTATE_MAGIC1 */)
		sw = (struct sw_bytes){.extended_size = LEGACY, .features = FEATURES_X87_SSE};
	return sw;
}

void xstate_put(void *into, const void *saved)
{
	uint8_t *to = into;
	const uint8_t *from = saved;
	const struct sw_bytes ours = sw_bytes_of(to), theirs = sw_bytes_of(from);
	uint64_t in_use = FEATURES_X87_SSE;
	memcpy(to, from, SW_BYTES);
	if (ours.extended_size == LEGACY)
		return;
	if (ours.extended_size == theirs.extended_size && ours.features == theirs.features) {
		memcpy(to + LEGACY, from + LEGACY, ours.extended_size - LEGACY);
		return;
	}
	/* A feature in use that the kernel has not enabled would be a fault on the way back to the program. */
	if (theirs.extended_size > LEGACY)
		memcpy(&in_use, from + LEGACY, sizeof(in_use));
	in_use &= ours.features & theirs.features & (FEATURES_X87_SSE | FEATURE_AVX);
	memset(to + LEGACY, 0, ours.extended_size - MAGIC2_LEN - LEGACY);
	memcpy(to + LEGACY, &in_use, sizeof(in_use));
	if (in_use & FEATURE_AVX)
		memcpy(to + AVX, from + AVX, AVX_LEN);
}
