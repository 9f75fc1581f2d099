#include "plugin.h"
#include "subject.h"

verbs_fn *const *object_ends;

static struct {
	struct object **by_id; /* [id - 1]; NULL: destroyed */
	uint32_t n, room;
} table;

struct object *object_find(uint64_t id, enum kind kind)
{
	struct object *o = id && id <= table.n ? table.by_id[id - 1] : NULL;
	return o && o->kind == kind ? o : NULL;
}

struct object *object_of(const void *handle, enum kind kind)
{
	for (uint32_t i = table.n; i-- > 0;)
		if (table.by_id[i] && table.by_id[i]->handle == handle && table.by_id[i]->kind == kind)
			return table.by_id[i];
	return NULL;
}

struct object *object_next(uint32_t *next)
{
	while (*next < table.n) {
		struct object *o = table.by_id[(*next)++];
		if (o)
			return o;
	}
	return NULL;
}

static struct object **new_place(void)
{
	if (table.n == table.room) {
		uint32_t room = table.room ? 2 * table.room : 64;
		struct object **p = realloc(table.by_id, room * sizeof(struct object *));
		if (!p)
			return NULL;
		table.by_id = p;
		table.room = room;
	}
	return &table.by_id[table.n++];
}

int64_t object_made(int rc, struct object *made)
{
	if (rc)
		return rc;
	struct object *o = malloc(sizeof(*o));
	struct object **place = o ? new_place() : NULL;
	if (!place)
		host->fatal("out of memory for verbs objects");
	*o = *made;
	o->id = (uint32_t)(place - table.by_id) + 1;
	o->users = 0;
	*place = o;
	for (unsigned i = 0; i < PARENTS; i++)
		if (o->parents[i])
			o->parents[i]->users++;
	return o->id;
}

int64_t object_destroy(uint64_t id, enum kind kind, int (*destroy)(void *handle))
{
	FIND(o, id, kind);
	if (o->users)
		return -EBUSY;
	int rc = destroy(o->handle);
	if (rc)
		return rc;
	for (unsigned i = 0; i < PARENTS; i++)
		if (o->parents[i])
			o->parents[i]->users--;
	table.by_id[o->id - 1] = NULL;
	free(o);
	return 0;
}

uint32_t objects_ids(void)
{
	return table.n;
}

void objects_ids_used(uint32_t n)
{
	while (table.n < n) {
		struct object **place = new_place();
		if (!place)
			host->fatal("out of memory for verbs objects");
		*place = NULL;
	}
}

struct object *object_again(const struct object *was)
{
	struct object *o = malloc(sizeof(*o));
	if (!o)
		host->fatal("out of memory for verbs objects");
	objects_ids_used(was->id);
	*o = *was;
	o->users = 0;
	table.by_id[o->id - 1] = o;
	return o;
}

const struct object *object_context(const struct object *o)
{
	while (o && o->kind != CONTEXT)
		o = o->parents[0];
	return o;
}

static bool made_of(const struct object *o, const struct object *context)
{
	while (o && o != context)
		o = o->parents[0];
	return o == context;
}

void objects_destroy_of(const struct object *context)
{
	for (uint32_t i = table.n; i-- > 0;) {
		const struct object *o = table.by_id[i];
		if (o && o != context && made_of(o, context))
			object_ends[o->kind](&(uint64_t){o->id});
	}
}

void objects_forget(void)
{
	for (uint32_t i = 0; i < table.n; i++)
		table.by_id[i] = NULL; /* not freed: the copied heap may have been in use during the fork */
}

enum kind event_kind(int type)
{
	static const enum kind kinds[] = {[SUBJECT_CQ] = CQ, [SUBJECT_QP] = QP, [SUBJECT_SRQ] = SRQ, [SUBJECT_WQ] = 0};
	return kinds[verbs_subject((enum ibv_event_type)type)];
}
