/* Finding instructions of two bytes, 0F and another one, in text that may be long: each program's start looks through
 * all of its libraries. */
#pragma once
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

/* The first 0F from p on that `second`, or `other`, follows; NULL: none before `end`. */
static inline const uint8_t *escape_next(const uint8_t *p, const uint8_t *end, uint8_t second, uint8_t other)
{
	const __m128i escapes = _mm_set1_epi8(0x0f), seconds = _mm_set1_epi8((char)second),
		      others = _mm_set1_epi8((char)other);
	for (; end - p > 16; p += 16) {
		const __m128i here = _mm_loadu_si128((const __m128i *)p),
			      next = _mm_loadu_si128((const __m128i *)(p + 1)),
			      either = _mm_or_si128(_mm_cmpeq_epi8(next, seconds), _mm_cmpeq_epi8(next, others));
		const int found = _mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(here, escapes), either));
		if (found)
			return p + __builtin_ctz((unsigned)found);
	}
	for (; end - p > 1; p++)
		if (*p == 0x0f && (p[1] == second || p[1] == other))
			return p;
	return NULL;
}
