#include "text/starts.h"
#include "text/decode.h"

enum { NEAR = 4, FAR_FROM = 24, FAR_TO = 128, FEW = 16 };

static bool arrives(const uint8_t *from, const uint8_t *candidate, const uint8_t *end, bool *understood)
{
	struct insn in;
	*understood = true;
	while (from < candidate) {
		if (decode(from, (size_t)(end - from), &in)) {
			*understood = false;
			return false;
		}
		from += in.len;
	}
	return from == candidate;
}

/* Decoding from wherever one starts falls into step with the real instructions after a few of them, so
 * nearly all starts before a real instruction boundary arrive at it, and few at any other place. */
bool text_starts_within(const uint8_t *begin, const uint8_t *candidate, const uint8_t *end, unsigned chains)
{
	unsigned tried = 0, arrived = 0;
	bool understood;
	for (unsigned back = NEAR; back <= chains && candidate - back >= begin; back++, tried++)
		arrived += arrives(candidate - back, candidate, end, &understood);
	return tried == 0 || arrived * 4 >= tried * 3;
}

/* Those from far enough away are in step by then, whatever constants lie before it (a mov of a small number to memory
 * is zeros that are instructions, too); and who meets what is no instruction was not in step. */
bool text_starts_here(const uint8_t *begin, const uint8_t *candidate, const uint8_t *end)
{
	unsigned tried = 0, arrived = 0;
	for (unsigned back = FAR_FROM; back <= FAR_TO && candidate - back >= begin; back++) {
		bool understood;
		arrived += arrives(candidate - back, candidate, end, &understood);
		tried += understood;
	}
	if (tried < FEW) /* text begins just before it */
		return text_starts_within(begin, candidate, end, FAR_FROM + FEW);
	return arrived * 4 >= tried * 3;
}
