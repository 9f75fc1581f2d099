#include "crossing/order.h"
#include "space/sent.h"

enum {
	SMALL = 40, /* bytes: a note would not be shorter */
	PIECE = 1ul << 30,
};

/* Bits of the address that choose the sample of which a hash is taken. */
static uint64_t sample(void)
{
	const bool whole = lower.opt.order || lower.opt.check == CHECK_FULL;
	return whole ? 0 : (lower.event % SENT_APART + 1) << RDB_SENT_PHASE;
}

void order_payload(struct event *ev, void *upper, size_t len)
{
	static uint64_t offset; /* bytes of all payloads so far */
	if (!recording() || !(lower.opt.order || lower.opt.lean) || !lower.started || len <= SMALL) {
		event_out(ev, upper, len);
		return;
	}
	for (char *p = upper; len;) {
		size_t n = len < PIECE ? len : PIECE;
		struct rdb_note_payload note = {.at = (uint64_t)p | sample(), .offset = offset, .len = (uint32_t)n};
		event_note(ev, RDB_NOTE_PAYLOAD, &note, sizeof(note));
		offset += n;
		p += n;
		len -= n;
	}
}

void order_checks(const struct event *ev)
{
	for (unsigned i = 0; i < ev->nchunks; i++) {
		const struct event_chunk *c = &ev->chunks[i];
		if (c->addr || c->note != RDB_NOTE_PAYLOAD)
			continue;
		struct rdb_note_payload *note = (struct rdb_note_payload *)c->data;
		struct rdb_note_sent span = {.at = note->at, .len = note->len};
		sent_check(&span);
		note->check = span.check;
	}
}
