/* CRC-32C (Castagnoli, RFC 3720 appendix B.4) by the SSE4.2 instruction. */
#ifndef RDB_CRC32C_H
#define RDB_CRC32C_H
#include <nmmintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc;
	uint64_t w;
	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		c = _mm_crc32_u64(c, w);
	}
	for (; len; len--, p++)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return ~(uint32_t)c;
}

#endif
