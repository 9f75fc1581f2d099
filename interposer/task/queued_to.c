#include "task/queued_to.h"
#include <string.h>
#include "base/guarded_copy.h"
#include "task/signal_frame.h"

/* include/linux/signal_types.h: struct kernel_siginfo has 48 bytes.  Only faults use the last eight. */
enum { SPARE = 40 };
static const uint64_t MARK = 0x7264622d746f3173ul;

static uint64_t spare(const siginfo_t *info)
{
	uint64_t word;
	memcpy(&word, (const char *)info + SPARE, sizeof(word));
	return info->si_code <= 0 ? word : 0;
}

uint64_t queued_to(uint64_t sig, uint64_t info, siginfo_t *room)
{
	/* a signal like that of a fault goes to the thread in which it arrives */
	if (sig < 1 || sig > 64 || (SYNCHRONOUS & BIT(sig)) ||
	    guarded_copy(room, (const void *)info, sizeof(*room)) != sizeof(*room) || spare(room))
		return info;
	queued_to_mark(room);
	return (uint64_t)room;
}

void queued_to_mark(siginfo_t *info)
{
	if (info->si_code <= 0)
		memcpy((char *)info + SPARE, &MARK, sizeof(MARK));
}

bool queued_to_marked(const siginfo_t *info)
{
	return spare(info) == MARK;
}

void queued_to_unmark(siginfo_t *info)
{
	if (queued_to_marked(info))
		memset((char *)info + SPARE, 0, sizeof(MARK));
}
