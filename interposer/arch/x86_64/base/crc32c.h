/* The SSE4.2 instructions, which use general registers only. */
#pragma once
#include <stdint.h>
#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

static inline uint64_t crc32c_word(uint64_t state, uint64_t word)
{
#ifdef __SSE4_2__
	return _mm_crc32_u64(state, word);
#else /* -mgeneral-regs-only */
	__asm__("crc32q %1, %0" : "+r"(state) : "r"(word));
	return state;
#endif
}

static inline uint64_t crc32c_byte(uint64_t state, uint8_t byte)
{
	uint32_t low = (uint32_t)state;
	__asm__("crc32b %1, %0" : "+r"(low) : "r"(byte));
	return low;
}
