#include "seek/mark_learn.h"
#include <string.h>
#include "space/upper_memory.h"

enum { WORDS = sizeof(((struct mark *)0)->stack) / 8, ENOUGH = 8, LESSONS = 6 };

static struct {
	unsigned missed, lessons;
	uint8_t differed[WORDS]; /* in how many of the missed arrivals */
	bool compared[WORDS];
	struct mark mark;
} learn;

void mark_learn_begin(const struct mark *m)
{
	memset(&learn, 0, offsetof(typeof(learn), mark));
	learn.mark = *m;
}

const struct mark *mark_learned(void)
{
	return &learn.mark;
}

/* Puts the word first.  If there is no room, the last word, the least telling, is dropped. */
static void compare_word(uint64_t addr, const uint8_t *value)
{
	struct mark *m = &learn.mark;
	unsigned keep = m->nwords < MARK_WORDS ? m->nwords : MARK_WORDS - 1;
	memmove(m->words + 1, m->words, keep * sizeof(*m->words));
	m->words[0].addr = addr;
	memcpy(&m->words[0].value, value, 8);
	m->nwords = keep + 1;
}

bool mark_learn(const struct mark *m)
{
	unsigned best = 0;
	if (learn.lessons == LESSONS || !upper_readable(m->stack_from, m->stack_len))
		return false;
	for (unsigned i = 0; i < m->stack_len / 8; i++)
		if (!learn.compared[i] && memcmp((const uint8_t *)m->stack_from + i * 8ul, m->stack + i * 8ul, 8))
			learn.differed[i]++;
	if (++learn.missed < ENOUGH)
		return false;
	for (unsigned i = 1; i < WORDS; i++)
		if (learn.differed[i] > learn.differed[best])
			best = i;
	learn.missed = 0;
	learn.lessons++;
	bool found = learn.differed[best];
	if (found) {
		compare_word(m->stack_from + best * 8ul, m->stack + best * 8ul);
		learn.compared[best] = true;
	}
	memset(learn.differed, 0, sizeof(learn.differed));
	return found;
}
