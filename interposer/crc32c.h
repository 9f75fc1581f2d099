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

/* Large data: four quarters side by side, which keeps the unit busy (its latency is three cycles), then
 * the four results and the rest in order.  Data below CRC32C_STRIPED bytes is taken as it is. */
enum { CRC32C_STRIPED = 4096 };

static inline uint32_t crc32c_data(uint32_t crc, const void *data, size_t len)
{
	if (len < CRC32C_STRIPED)
		return crc32c(crc, data, len);
	size_t quarter = len / 32 * 8;
	const uint8_t *p = data;
	uint64_t c[4] = {~0u, ~0u, ~0u, ~0u};
	for (size_t i = 0; i < quarter; i += 8)
		for (unsigned k = 0; k < 4; k++) {
			uint64_t w;
			memcpy(&w, p + k * quarter + i, 8);
			c[k] = _mm_crc32_u64(c[k], w);
		}
	crc = crc32c(crc, c, sizeof(c));
	return crc32c(crc, p + 4 * quarter, len - 4 * quarter);
}

#endif
