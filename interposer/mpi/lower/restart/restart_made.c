/* Objects that the program got from a file (types of its view, info, group) or a window (info, group).  The journal has
 * a description of the object, not the call, since the file or window may be gone before the branch begins. */
#include "lower/restart/restart_journal.h"
#include "lower/checkpoint/coordinated_state.h"

static const struct {
	unsigned index;
	uint32_t classes[2], places[2];
} givers[] = {
	{RDB_File_get_view, {RDB_TYPE, RDB_TYPE}, {2, 3}},
	{RDB_File_get_info, {RDB_INFO}, {1}},
	{RDB_File_get_group, {RDB_GROUP}, {1}},
	{RDB_Win_get_info, {RDB_INFO}, {1}},
	{RDB_Win_get_group, {RDB_GROUP}, {1}},
};

static void describe(struct bytes *out, unsigned class, const struct vobject *object)
{
	switch (class) {
	case RDB_TYPE: put_type(out, REAL(MPI_Datatype, object->real)); break;
	case RDB_INFO: put_info(out, REAL(MPI_Info, object->real)); break;
	default: put_group(out, REAL(MPI_Group, object->real));
	}
}

static struct entry *entry_of(unsigned class, const struct vobject *object)
{
	struct entry *one = journal_room(sizeof(*one));
	struct bytes out = {0};

	describe(&out, class, object);
	one->index = JOURNAL_GIVEN;
	one->nargs = 2;
	one->args[0] = class;
	one->args[1] = object->id;
	one->nparts = 1;
	one->parts[0].len = (uint32_t)out.len;
	one->parts[0].before = journal_room(out.len);
	memcpy(one->parts[0].before, out.base, out.len);
	free(out.base);
	return one;
}

bool journal_gives(unsigned index)
{
	for (size_t i = 0; i < sizeof(givers) / sizeof(*givers); i++)
		if (givers[i].index == index)
			return true;
	return false;
}

void journal_given(unsigned index, const uint64_t *a)
{
	size_t which = 0;

	while (givers[which].index != index)
		which++;
	for (unsigned i = 0; i < 2 && givers[which].classes[i]; i++) {
		unsigned class = givers[which].classes[i];
		const struct vobject *object = object_of(class, rdb_id(class, *(void **)a[givers[which].places[i]]));

		if (object->id < RDB_FIRST_DYNAMIC)
			continue; /* predefined */
		struct entry *one = entry_of(class, object);

		*journal.last = one;
		journal.last = &one->next;
	}
}

const char *journal_give(const struct entry *one)
{
	const struct part *part = &one->parts[0];
	struct bytes in = {.base = part->before, .at = part->before, .end = part->before + part->len};
	uint32_t id = (uint32_t)one->args[1];
	bool own = false;
	void *real = NULL;

	if (one->nparts != 1 || id < RDB_FIRST_DYNAMIC)
		return restart_refuse("", "the state of MPI with which the branch began is damaged");
	switch (one->args[0]) {
	case RDB_TYPE: real = BITS(get_type(&in, &own)); break;
	case RDB_INFO: real = BITS(get_info(&in)); break;
	case RDB_GROUP: real = BITS(get_group(&in)); break;
	default: in.bad = true;
	}
	if (in.bad)
		return restart_refuse("", "a datatype, an info or a group of a file or a window cannot be made again");
	struct vobject *object = object_at((unsigned)one->args[0], id, real);

	if (one->args[0] == RDB_TYPE)
		type_describe((struct vtype *)object);
	return NULL;
}
