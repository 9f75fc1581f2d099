/* CRC-32C (Castagnoli, RFC 3720 appendix B.4). */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "arch/crc32c.h"

static inline uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc;
	uint64_t w;
	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		c = crc32c_word(c, w);
	}
	for (; len; len--, p++)
		c = crc32c_byte(c, *p);
	return ~(uint32_t)c;
}

/* Large data: four quarters side by side, which keeps the unit busy (its latency is three cycles), then
 * the four results and the rest in order.  Data below CRC32C_STRIPED bytes is taken as it is. */
enum { CRC32C_STRIPED = 4096 };

static inline size_t crc32c_quarters(const void *data, size_t len, uint64_t c[4])
{
	size_t quarter = len / 32 * 8;
	const uint8_t *p = data;
	/* four variables, not an array: gcc keeps an array in memory at -O2, at a quarter of the speed */
	uint64_t c0 = ~0u, c1 = ~0u, c2 = ~0u, c3 = ~0u, w0, w1, w2, w3;
	if (crc32c_wide_there()) {
		c0 = crc32c_wide_words(c0, p, quarter);
		c1 = crc32c_wide_words(c1, p + quarter, quarter);
		c2 = crc32c_wide_words(c2, p + 2 * quarter, quarter);
		c3 = crc32c_wide_words(c3, p + 3 * quarter, quarter);
		p += quarter;
	}
	for (const uint8_t *end = (const uint8_t *)data + quarter; p < end; p += 8) {
		memcpy(&w0, p, 8);
		memcpy(&w1, p + quarter, 8);
		memcpy(&w2, p + 2 * quarter, 8);
		memcpy(&w3, p + 3 * quarter, 8);
		c0 = crc32c_word(c0, w0);
		c1 = crc32c_word(c1, w1);
		c2 = crc32c_word(c2, w2);
		c3 = crc32c_word(c3, w3);
	}
	c[0] = c0, c[1] = c1, c[2] = c2, c[3] = c3;
	return 4 * quarter;
}

static inline uint32_t crc32c_data(uint32_t crc, const void *data, size_t len)
{
	uint64_t c[4];
	if (len < CRC32C_STRIPED)
		return crc32c(crc, data, len);
	const size_t done = crc32c_quarters(data, len, c);
	return crc32c(crc32c(crc, c, sizeof(c)), (const uint8_t *)data + done, len - done);
}
