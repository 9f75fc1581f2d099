/* Validity of frames, and their tags. */
#include "../../base/siphash.h"
#include "wire.h"

_Static_assert((int)FRAME_KEY == (int)SIPHASH_KEY, "SipHash's");

uint64_t frame_tag(const uint8_t *key, uint64_t number, const uint8_t *frame, size_t len)
{
	struct siphash h;
	siphash_begin(&h, key);
	siphash_add(&h, &number, sizeof(number));
	siphash_add(&h, frame, len);
	return siphash_end(&h);
}

static bool whole(const struct frame *f, uint32_t length)
{
	return f->offset == 0 && f->length == length && f->total == length;
}

static bool part(const struct frame *f)
{
	return f->length <= FRAME_PAYLOAD && f->total <= FRAME_MESSAGE_MAX && f->offset <= f->total &&
	       f->length <= f->total - f->offset && (f->length || f->total == 0);
}

bool frame_valid(const struct frame *f)
{
	uint8_t flags = 0;
	if (f->dest > FRAME_NUMBERS || f->source > FRAME_NUMBERS || f->seq > FRAME_NUMBERS)
		return false;
	switch ((enum frame_op)f->op) {
	case FRAME_SEND:
		flags = FRAME_SOLICITED | FRAME_IMM | FRAME_INVALIDATE;
		if ((f->flags & FRAME_IMM) && (f->flags & FRAME_INVALIDATE))
			return false;
		return !(f->flags & ~flags) && part(f);
	case FRAME_WRITE: return !(f->flags & ~(FRAME_SOLICITED | FRAME_IMM)) && part(f);
	case FRAME_READ: return !f->flags && f->length == 0 && f->offset == 0 && f->total <= FRAME_MESSAGE_MAX;
	case FRAME_CMP_SWAP:
	case FRAME_FETCH_ADD: return !f->flags && whole(f, FRAME_ATOMIC_OPERANDS);
	case FRAME_DATAGRAM:
	case FRAME_MULTICAST:
		return !(f->flags & ~(FRAME_SOLICITED | FRAME_IMM)) && f->length <= FRAME_MTU && whole(f, f->length);
	case FRAME_ACK:
	case FRAME_DROPPED: return !f->flags && whole(f, 0);
	case FRAME_RNR: return !f->flags && f->code < 32 && whole(f, 0);
	case FRAME_NAK: return !f->flags && f->code >= NAK_INVALID_REQUEST && f->code <= NAK_OPERATION && whole(f, 0);
	case FRAME_READ_DATA: return !f->flags && part(f);
	case FRAME_ATOMIC_DATA: return !f->flags && whole(f, 0);
	case FRAME_CM: return false;
	}
	return false;
}
