#include "crossing/order.h"
#include "base/crc32c.h"

enum {
	SMALL = 40, /* bytes: a note would not be shorter */
	PIECE = 1ul << 30,
};

void order_payload(struct event *ev, void *upper, size_t len)
{
	static uint64_t offset; /* bytes of all payloads so far */
	if (!recording() || !lower.opt.order || !lower.started || len <= SMALL) {
		event_out(ev, upper, len);
		return;
	}
	for (char *p = upper; len;) {
		size_t n = len < PIECE ? len : PIECE;
		struct rdb_note_payload note = {.addr = (uint64_t)p, .offset = offset, .len = (uint32_t)n};
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
		note->check = crc32c_data(0, (const void *)note->addr, note->len);
	}
}
