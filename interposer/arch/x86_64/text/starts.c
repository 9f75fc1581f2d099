#include "arch/x86_64/text/starts.h"
#include "arch/insn.h"

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

/* Decoding that starts anywhere falls into step with the real instructions after a few of them.  So nearly all starts
 * before a real instruction boundary arrive at it, and few arrive elsewhere. */
bool text_starts_within(const uint8_t *begin, const uint8_t *candidate, const uint8_t *end, unsigned chains)
{
	unsigned tried = 0, arrived = 0;
	bool understood;
	for (unsigned back = NEAR; back <= chains && candidate - back >= begin; back++, tried++)
		arrived += arrives(candidate - back, candidate, end, &understood);
	return tried == 0 || arrived * 4 >= tried * 3;
}

/* Decodings that start far enough away are in step by then, even after constants (zeros in a mov of a small number to
 * memory are valid instructions, too).  A decoding that meets an invalid instruction was not in step. */
bool text_starts_here(const uint8_t *begin, const uint8_t *candidate, const uint8_t *end)
{
	unsigned tried = 0, arrived = 0;
	for (unsigned back = FAR_FROM; back <= FAR_TO && candidate - back >= begin; back++) {
		bool understood;
		arrived += arrives(candidate - back, candidate, end, &understood);
		tried += understood;
	}
	if (tried < FEW) /* the text begins just before the candidate */
		return text_starts_within(begin, candidate, end, FAR_FROM + FEW);
	return arrived * 4 >= tried * 3;
}
