#include "crossing/order.h"
#include "base/crc32c.h"

enum {
	SMALL = 40, /* bytes: a note would not be shorter */
	PIECE = 1ul << 30,
};

void order_payload(struct event *ev, void *upper, size_t len)
{
	static uint64_t offset; /* of all that came so far */
	if (!recording() || !lower.opt.order || !lower.started || len <= SMALL) {
		event_out(ev, upper, len);
		return;
	}
	for (char *p = upper; len;) {
		size_t n = len < PIECE ? len : PIECE;
		struct rdb_note_payload note = {.addr = (uint64_t)p, .offset = offset, .len = (uint32_t)n};
		note.check = crc32c_data(0, p, n);
		event_note(ev, RDB_NOTE_PAYLOAD, &note, sizeof(note));
		offset += n;
		p += n;
		len -= n;
	}
}
