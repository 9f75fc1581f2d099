/* SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012): a MAC of 64 bits, for a key of 128.
 * Two MACs are compared as numbers: that takes the same time wherever they differ. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SIPHASH_KEY = 16 };

struct siphash {
	uint64_t v[4], word; /* word: bytes of the incomplete word */
	size_t len;
};

static inline uint64_t siphash_rotated(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static inline void siphash_rounds(uint64_t *v, unsigned n)
{
	uint64_t a = v[0], b = v[1], c = v[2], d = v[3];
	while (n--) {
		a += b;
		c += d;
		b = siphash_rotated(b, 13) ^ a;
		d = siphash_rotated(d, 16) ^ c;
		a = siphash_rotated(a, 32) + d;
		c += b;
		d = siphash_rotated(d, 21) ^ a;
		b = siphash_rotated(b, 17) ^ c;
		c = siphash_rotated(c, 32);
	}
	v[0] = a;
	v[1] = b;
	v[2] = c;
	v[3] = d;
}

static inline void siphash_word(struct siphash *h, uint64_t word)
{
	h->v[3] ^= word;
	siphash_rounds(h->v, 2);
	h->v[0] ^= word;
}

static inline void siphash_begin(struct siphash *h, const uint8_t *key)
{
	uint64_t k[2];
	memcpy(k, key, sizeof(k));
	*h = (struct siphash){.v = {k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d, k[0] ^ 0x6c7967656e657261,
				    k[1] ^ 0x7465646279746573}};
}

static inline void siphash_add(struct siphash *h, const void *data, size_t len)
{
	const uint8_t *from = data;
	struct siphash in = *h; /* a copy that the compiler keeps in registers */
	for (; len && in.len % 8; len--) {
		in.word |= (uint64_t)*from++ << 8 * (in.len % 8);
		if (++in.len % 8 == 0) {
			siphash_word(&in, in.word);
			in.word = 0;
		}
	}
	in.len += len;
	for (; len >= 8; len -= 8, from += 8) {
		uint64_t word;
		memcpy(&word, from, sizeof(word));
		siphash_word(&in, word);
	}
	for (unsigned i = 0; i < len; i++)
		in.word |= (uint64_t)from[i] << 8 * i;
	*h = in;
}

static inline uint64_t siphash_end(struct siphash *h)
{
	siphash_word(h, h->word | (uint64_t)h->len << 56);
	h->v[2] ^= 0xff;
	siphash_rounds(h->v, 4);
	return h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}
