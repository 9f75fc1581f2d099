/* Short records (log_format.h): the differences between a record and its model. */
#pragma once
#include <stdbool.h>
#include <string.h>
#include "base/crc32c.h"
#include "interface/log_format.h"

/* In 64-bit words of a struct log_record. */
enum { SHORT_WORD_KIND = 2, SHORT_WORD_RESULT = 4, SHORT_BODY = sizeof(struct log_record) / 8 };

static inline bool log_is_short(uint32_t size)
{
	return size & LOG_SHORT;
}

/* Bytes that a record, short or not, takes in its segment. */
static inline uint32_t log_size(uint32_t size)
{
	return size & ~(uint32_t)(LOG_SHORT | LOG_CYCLE);
}

static inline bool log_is_cycle(uint32_t size)
{
	return size == (sizeof(struct log_cycle) | LOG_SHORT | LOG_CYCLE);
}

static inline bool log_cycle_fits(const struct log_cycle *c, uint32_t size, size_t room)
{
	uint64_t counts;
	if (!log_is_cycle(size) || room < sizeof(*c))
		return false;
	counts = __atomic_load_n((const uint64_t *)&c->count, __ATOMIC_ACQUIRE);
	return (uint32_t)counts == ~(uint32_t)(counts >> 32) && c->period > 1 && c->period <= LOG_PERIOD_MAX &&
	       c->check == crc32c(0, &c->period, 8);
}

/* The word of the record that a bit of the mask stands for. */
static inline unsigned log_short_word(unsigned bit)
{
	return bit ? SHORT_BODY - 1 + bit : SHORT_WORD_RESULT;
}

/* Is it well-formed by itself: its size, its mask, its checksum?  `room`: bytes up to the end of what is there. */
static inline bool log_short_fits(const struct log_short *s, uint32_t size, size_t room)
{
	if (!log_is_short(size) || size & LOG_CYCLE || log_size(size) % 8 || log_size(size) < sizeof(*s) ||
	    log_size(size) > room)
		return false;
	if (size > LOG_SHORT_MAX)
		return false;
	const uint32_t more = log_size(size) - (uint32_t)sizeof(*s);
	if (more) {
		uint64_t mask;
		memcpy(&mask, s + 1, sizeof(mask));
		if (!mask || more != 8u * (1u + (unsigned)__builtin_popcountll(mask)))
			return false;
	}
	return s->check == crc32c(0, (const uint8_t *)s + 8, log_size(size) - 8);
}

/* Expands it into `out`, which has room for LOG_MODEL_MAX bytes.  False: it is not of this model. */
static inline bool log_short_expand(const struct log_short *s, uint32_t size, const struct log_record *model,
				    uint64_t *out)
{
	const uint64_t *word = (const uint64_t *)(s + 1);
	struct log_record *rec = (struct log_record *)out;
	if (model->size > LOG_MODEL_MAX)
		return false;
	memcpy(out, model, model->size);
	rec->repeat = 0;
	rec->not_repeat = UINT32_MAX;
	rec->event += s->event;
	rec->at_ns += s->at_ns;
	rec->took = s->took;
	if (log_size(size) == sizeof(*s))
		return true;
	for (uint64_t mask = *word++; mask; mask &= mask - 1) {
		const unsigned at = log_short_word((unsigned)__builtin_ctzll(mask));
		if (at >= model->size / 8)
			return false;
		out[at] = *word++;
	}
	return true;
}
