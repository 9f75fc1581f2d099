#include "arch/x86_64/base/xstate.h"
#include <string.h>

/* The header follows the 512 bytes of FXSAVE, then comes AVX; later parts have other offsets on other CPUs. */
enum { AVX = 576, AVX_LEN = 256, MAGIC2_LEN = 4 };
enum { FEATURES_X87_SSE = 3, FEATURE_AVX = 4, FEATURE_PKRU = 1 << 9 };
enum { FCW = 0, MXCSR = 24, MXCSR_MASK = 28 };

struct xstate_words xstate_words(const void *frame)
{
	struct xstate_words words;
	memcpy(&words, (const uint8_t *)frame + SW_BYTES, sizeof(words));
	if (words.magic != XSTATE_MAGIC1)
		words = (struct xstate_words){
			.extended_size = LEGACY, .features = FEATURES_X87_SSE, .xstate_size = LEGACY};
	return words;
}

size_t xstate_len(const void *frame)
{
	return xstate_words(frame).extended_size;
}

void xstate_put(void *into, const void *saved)
{
	uint8_t *to = into;
	const uint8_t *from = saved;
	const struct xstate_words ours = xstate_words(to), theirs = xstate_words(from);
	const size_t whole = ours.extended_size - MAGIC2_LEN;
	uint64_t in_use = FEATURES_X87_SSE, kept;
	memcpy(to, from, SW_BYTES);
	if (ours.extended_size == LEGACY)
		return;
	if (ours.extended_size == theirs.extended_size && ours.features == theirs.features) {
		memcpy(to + LEGACY, from + LEGACY, ours.extended_size - LEGACY);
		return;
	}
	/* sigreturn would fault on a feature in use that the kernel has not enabled. */
	if (theirs.extended_size > LEGACY)
		memcpy(&in_use, from + LEGACY, sizeof(in_use));
	in_use &= ours.features & theirs.features & (FEATURES_X87_SSE | FEATURE_AVX);
	memcpy(&kept, to + LEGACY, sizeof(kept));
	kept &= FEATURE_PKRU;
	in_use |= kept;
	/* PKRU lies behind AVX; XRSTOR initialises what is not in use, whatever is there */
	memset(to + LEGACY, 0, (kept ? AVX + AVX_LEN : whole) - LEGACY);
	memcpy(to + LEGACY, &in_use, sizeof(in_use));
	if (in_use & FEATURE_AVX)
		memcpy(to + AVX, from + AVX, AVX_LEN);
}

void xstate_clear(void *frame)
{
	uint8_t *to = frame;
	const struct xstate_words words = xstate_words(to);
	const uint16_t fcw = 0x37f;
	const uint32_t mxcsr = 0x1f80;
	uint64_t in_use;
	memset(to, 0, MXCSR_MASK);
	memset(to + MXCSR_MASK + 4, 0, SW_BYTES - MXCSR_MASK - 4);
	memcpy(to + FCW, &fcw, sizeof(fcw));
	memcpy(to + MXCSR, &mxcsr, sizeof(mxcsr));
	if (words.extended_size == LEGACY)
		return;
	memcpy(&in_use, to + LEGACY, sizeof(in_use));
	in_use = FEATURES_X87_SSE | (in_use & FEATURE_PKRU); /* the rest is as after INIT */
	memcpy(to + LEGACY, &in_use, sizeof(in_use));
	if (words.features & FEATURE_AVX)
		memset(to + AVX, 0, AVX_LEN);
}
