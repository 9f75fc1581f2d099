#include "log/log_shorten.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include "log/log_cycle.h"
#include "log/log_segment.h"
#include "log/log_short.h"
#include "log/log_writer.h"
#include "log/stamp.h"
#include "base/thread.h"

/* Words of the new record against those of its model.  Bit i stands for model[i]. */
struct difference {
	const uint64_t *model;
	uint64_t mask;
	unsigned bit, n;
	uint64_t *word; /* those that differ */
};

enum {
	ROW = 8,  /* equal answers that differ from the model's, before one of them becomes the model */
	WAYS = 4, /* slots in which a question may be */
};

#define INLINE static inline __attribute__((always_inline))

INLINE void compare(struct difference *d, uint64_t word)
{
	if (__builtin_expect(word != d->model[d->bit], 0)) { /* mostly the same words each time */
		d->word[d->n++] = word;
		d->mask |= 1ul << d->bit;
	}
	d->bit++;
}

INLINE void compare_bytes(struct difference *d, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t w;
	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		compare(d, w);
	}
	if (!len)
		return;
	w = 0;
	for (size_t i = 0; i < len; i++)
		w |= (uint64_t)p[i] << 8 * i;
	compare(d, w);
}

/* False: the event has a text, which readers of the log look for at its place in the file. */
INLINE bool differences(struct difference *d, const struct event *ev)
{
	for (unsigned i = 0; i < ev->nargs; i++)
		compare(d, ev->args[i]);
	for (unsigned i = 0; i < ev->nchunks; i++) {
		const struct event_chunk *c = &ev->chunks[i];
		if (c->note == RDB_NOTE_TEXT)
			return false;
		compare(d, c->addr);
		compare(d, c->len | (uint64_t)c->note << 32);
		compare_bytes(d, c->data, c->len);
	}
	return true;
}

/* A hash of the question; its multiplications do not depend on each other. */
static inline uint32_t asked(uint32_t nr, size_t size, const uint64_t *args, unsigned nargs)
{
	uint64_t sum = nr + size * 0x9e3779b97f4a7c15ul, by = 0xbf58476d1ce4e5b9ul;
	for (unsigned i = 0; i < nargs; i++, by += 0x94d049bb133111ebul & ~1ul)
		sum += args[i] * by;
	return (uint32_t)(sum >> 32 ^ sum) | 1;
}

/* The slot of the question, or one that it may take.  Several that a loop asks in turn may have the same hash. */
static inline unsigned place(uint32_t asked)
{
	static_assert(LOG_MODEL_SLOTS == 64, "the hash has six bits");
	const unsigned first = asked * 0x9e3779b1u >> 26 & ~(WAYS - 1u);
	for (unsigned way = 0; way < WAYS; way++)
		if (log_.models[first + way].asked == asked || !log_.models[first + way].asked)
			return first + way;
	return first + log_.way % WAYS;
}

static inline void claim(unsigned slot, uint32_t asked)
{
	log_.way += log_.models[slot].asked != asked;
	log_.models[slot].asked = asked;
}

static inline uint32_t *form(uint32_t nr, uint32_t kind, size_t size)
{
	return &log_.forms[(nr * 5 + kind + size / 8) % LOG_MODEL_SLOTS];
}

void log_model(size_t at)
{
	const struct log_record *rec = (const void *)(log_.base + at);
	const uint32_t what = asked(rec->nr, rec->size, (const uint64_t *)(rec + 1), rec->nargs);
	const unsigned slot = place(what);
	claim(slot, what);
	log_.models[slot].at = log_.same = (uint32_t)(at / 8);
	log_.models[slot].row = 0;
	*form(rec->nr, rec->kind, rec->size) = (uint32_t)(at / 8);
	log_.last = (void *)rec;
}

/* The answer is the one just logged: count it instead of writing it again. */
static bool counted(struct log_record *rec)
{
	if (rec->repeat == UINT32_MAX)
		return false;
	const uint64_t n = rec->repeat + 1u;
	__atomic_store_n((uint64_t *)&rec->repeat, n | (~n << 32), __ATOMIC_RELEASE);
	return true;
}

static int append(const struct event *ev, uint64_t number, const struct log_record *model, uint64_t mask, unsigned n,
		  const uint64_t *word)
{
	const uint64_t counter = stamp_counter(), now_ns = ev->looks_ns ? ev->looks_ns : stamp_at(counter);
	const uint64_t at_ns = now_ns - model->at_ns, later = number - model->event;
	const size_t size = sizeof(struct log_short) + (n ? 8ul + 8ul * n : 0);
	struct log_short *s = (void *)(log_.base + log_.off);
	uint64_t *out = (uint64_t *)(s + 1), crc = ~0u;
	if (at_ns > UINT32_MAX || later > UINT32_MAX || size >= model->size)
		return 0;
	if (log_.budget && log_written() + size > log_.budget)
		return -EDQUOT;
	s->back = (uint32_t)((const uint64_t *)s - (const uint64_t *)model);
	s->event = (uint32_t)later;
	s->at_ns = (uint32_t)at_ns;
	s->took = ev->begun ? stamp_took(ev->begun, counter) : 0;
	crc = crc32c_word(crc, s->back | (uint64_t)s->event << 32);
	crc = crc32c_word(crc, s->at_ns | (uint64_t)s->took << 32);
	if (n) {
		*out++ = mask;
		crc = crc32c_word(crc, mask);
		for (unsigned i = 0; i < n; i++) {
			out[i] = word[i];
			crc = crc32c_word(crc, word[i]);
		}
	}
	s->check = ~(uint32_t)crc;
	__atomic_store_n(&s->size, (uint32_t)size | LOG_SHORT, __ATOMIC_RELEASE);
	log_.off += size;
	log_.last = NULL;
	return 1;
}

/* True: the question of this slot has had this answer so often that it is to be the model.  Only answers that equal
 * their model are counted, so those of a poll whose first answer differed would never be. */
static bool better_model(unsigned slot, uint64_t mask, unsigned n, const uint64_t *word)
{
	uint64_t crc = crc32c_word(~0u, mask);
	for (unsigned i = 0; i < n; i++)
		crc = crc32c_word(crc, word[i]);
	if (log_.models[slot].other != (uint32_t)crc) {
		log_.models[slot].other = (uint32_t)crc;
		log_.models[slot].row = 0;
	}
	return ++log_.models[slot].row == ROW;
}

int log_shorten(const struct event *ev, uint64_t number, size_t size)
{
	const uint32_t what = asked(ev->nr, size, ev->args, ev->nargs);
	const unsigned slot = place(what);
	const bool known = log_.models[slot].asked == what;
	const uint32_t at = known && log_.models[slot].at ? log_.models[slot].at : *form(ev->nr, ev->kind, size);
	struct log_record *model = (void *)(log_.base + 8ul * at);
	uint64_t word[65];
	int rc;
	if (!at || model->size != size || model->thread != thread_self()->upper.number || model->kind != ev->kind ||
	    model->nr != ev->nr || model->nargs != ev->nargs)
		return 0;
	struct difference d = {.model = (const uint64_t *)model + SHORT_BODY - 1, .bit = 1, .word = word};
	if (ev->result != model->result) {
		word[d.n++] = (uint64_t)ev->result;
		d.mask = 1;
	}
	if (!differences(&d, ev))
		return 0;
	const unsigned n = d.n;
	if (!n && model == log_.last)
		return counted(model);
	if (!n && (rc = log_cycle_turn(ev, at)))
		return rc;
	/* of equal events in a row the second is written whole, and the others are counted */
	if (!n && at == log_.same)
		return 0;
	if (n && !known) { /* a question that is asked again gets a model of its own */
		claim(slot, what);
		log_.models[slot].at = 0;
	} else if (n && (!log_.models[slot].at || better_model(slot, d.mask, n, word))) {
		return 0;
	}
	if (log_.off + LOG_SHORT_MAX + LOG_END_ROOM > log_.len)
		return 0;
	log_present(log_.off + LOG_SHORT_MAX);
	rc = append(ev, number, model, d.mask, n, word);
	if (rc != 1)
		return rc;
	log_.same = n ? 0 : at;
	if (n)
		log_cycle_ends();
	else
		log_cycle_appended(ev, at);
	return 1;
}
