/* Keys: the upper 24 bits are an index into one table of regions and windows, counted from a random number, so that
 * processes seldom have the same keys; the low 8 bits change with each use of the entry, so that an old key is not
 * valid. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include "keys.h"

struct entry {
	void *object;
	enum hca_key_kind kind;
	uint8_t low;
	uint32_t next_free;
};

static struct {
	struct entry *entries;
	uint32_t count, room, free; /* entry 0 is never used; free: first free entry, 0: none */
	uint32_t first;             /* the index in keys of entry 0 */
} table;

enum { ENTRIES_MAX = 1 << 23 };

static uint32_t entry_of(uint32_t key)
{
	return (key >> 8) - table.first;
}

static int grow(void)
{
	uint32_t room = table.room ? table.room * 2 : 256;
	if (room > ENTRIES_MAX)
		return -ENOMEM;
	struct entry *bigger = realloc(table.entries, room * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	table.entries = bigger;
	table.room = room;
	if (!table.count) {
		table.entries[table.count++] = (struct entry){0};
		table.first = randombytes_uniform(ENTRIES_MAX);
	}
	return 0;
}

int hca_key_new(enum hca_key_kind kind, void *object, uint32_t *key)
{
	uint32_t at = table.free;
	if (at) {
		table.free = table.entries[at].next_free;
	} else {
		if (table.count == table.room) {
			int rc = grow();
			if (rc)
				return rc;
		}
		at = table.count++;
		table.entries[at].low = (uint8_t)randombytes_random();
	}
	struct entry *e = &table.entries[at];
	e->object = object;
	e->kind = kind;
	e->low++;
	*key = (table.first + at) << 8 | e->low;
	return 0;
}

void hca_key_free(uint32_t key)
{
	struct entry *e = &table.entries[entry_of(key)];
	e->kind = HCA_KEY_NONE;
	e->object = NULL;
	e->next_free = table.free;
	table.free = entry_of(key);
}

void hca_key_change(uint32_t *key, uint8_t low)
{
	table.entries[entry_of(*key)].low = low;
	*key = (*key & ~0xffu) | low;
}

void *hca_key_any(uint32_t key, enum hca_key_kind kind)
{
	uint32_t at = entry_of(key);
	return at && at < table.count && table.entries[at].kind == kind ? table.entries[at].object : NULL;
}

void *hca_key_find(uint32_t key, enum hca_key_kind kind)
{
	void *object = hca_key_any(key, kind);
	return object && table.entries[entry_of(key)].low == (uint8_t)key ? object : NULL;
}

void hca_key_each_mw(void (*visit)(struct hca_mw *mw, void *arg), void *arg)
{
	for (uint32_t i = 1; i < table.count; i++)
		if (table.entries[i].kind == HCA_KEY_MW)
			visit(table.entries[i].object, arg);
}
