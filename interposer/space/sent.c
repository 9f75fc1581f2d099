#include "space/sent.h"
#include "base/guarded_copy.h"
#include "interface/layout.h"
#include "base/crc32c.h"

static uint32_t of_sample(const uint8_t *p, size_t len, unsigned phase)
{
	const size_t lines = len / SENT_LINE, least = lines / (SENT_SAMPLE / SENT_LINE);
	const size_t apart = least < SENT_APART ? least : SENT_APART;
	uint64_t crc = ~0u, w;
	for (size_t i = (phase - 1) % apart; i < lines; i += apart)
		for (unsigned at = 0; at < SENT_LINE; at += 8) {
			memcpy(&w, p + i * SENT_LINE + at, 8);
			crc = crc32c_word(crc, w);
		}
	return crc32c(~(uint32_t)crc, p + lines * SENT_LINE, len % SENT_LINE);
}

static void check(void *arg)
{
	struct rdb_note_sent *span = arg;
	const uint8_t *p = (const void *)sent_address(span);
	if (span->at & RDB_SENT_BLOCKS) {
		span->check = 0;
		for (uint32_t i = 0; i < span[1].len; i++, p += span[1].at)
			span->check = crc32c_data(span->check, p, span->len);
		return;
	}
	span->check = sent_phase(span) ? of_sample(p, span->len, sent_phase(span)) : crc32c_data(0, p, span->len);
}

bool sent_check(struct rdb_note_sent *span)
{
	if (guarded_call(check, span))
		return true;
	if (span->at & RDB_SENT_BLOCKS) {
		span->len = 0;
		return false;
	}
	/* a page is not mapped: find the first such page */
	const uint64_t from = sent_address(span), end = from + span->len;
	uint64_t to = from;
	char byte;
	while (to < end && guarded_copy(&byte, (const void *)to, 1))
		to = (to & ~(RDB_PAGE - 1)) + RDB_PAGE;
	span->len = (uint32_t)((to < end ? to : end) - from);
	span->at = from;
	span->check = 0;
	if (span->len && !guarded_call(check, span))
		span->len = 0;
	return false;
}
