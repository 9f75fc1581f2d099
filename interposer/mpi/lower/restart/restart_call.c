/* Helpers of a restart: the kind of a function, making a call again, reasons of failures. */
#include "lower/objects/large.h"
#include "lower/restart/restart.h"

bool restart_left;

static const struct {
	enum kind kind;
	const char *names;
} lists[] = {
#define KIND(kind, names) {kind, names},
#include "lower/restart/restart_kinds.def"
#undef KIND
};

static char why[4600]; /* a path may be in it */

enum kind restart_kind(const char *name)
{
	char word[128];

	procedure_word(name, word, sizeof(word));
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strstr(lists[i].names, word))
			return lists[i].kind;
	}
	return UNKNOWN;
}

const char *restart_refuse(const char *name, const char *what)
{
	snprintf(why, sizeof(why), "%s%s%s", name, *name ? ": " : "", what);
	return why;
}

const char *restart_failed_here(void)
{
	static char text[128];

	snprintf(text, sizeof(text), "it succeeded in the recording and fails over %s; try another --mpi",
		 own_plugin->name);
	return text;
}

int64_t restart_call(unsigned index, uint32_t nargs, const uint64_t *a)
{
	uint64_t large[TRANSLATION_ARGUMENTS];

	if (large_call(index, a))
		a = large_arguments(index, nargs, a, large);
#ifdef OPEN_MPI
	(void)nargs;
	return real_functions[index].call(a);
#else
	return translated_call(index, real_functions[index].call, nargs, a);
#endif
}

static void silent_out(void *upper __attribute__((unused)), size_t len __attribute__((unused))) {}

static void silent_note(enum rdb_note what __attribute__((unused)), const void *data __attribute__((unused)),
			size_t len __attribute__((unused)))
{
}

int64_t restart_silent_call(unsigned index, uint32_t nargs, const uint64_t *a)
{
	static struct rdb_host silent;
	const struct rdb_host *known = host;
	int64_t result;

	silent = *known;
	silent.out = silent_out;
	silent.payload = silent_out;
	silent.note = silent_note;
	host = &silent;
	result = restart_call(index, nargs, a);
	host = known;
	return result;
}

const char *restart_renamed(const uint64_t *handles)
{
	void *made = (void *)handles[0], *known = (void *)handles[1];
	unsigned class = (handles[1] | handles[0]) >> 48 & 0xff;
	bool dynamic_made = handles[0] >> 56 == RDB_DYNAMIC >> 56;
	bool dynamic_known = handles[1] >> 56 == RDB_DYNAMIC >> 56;

	if (!dynamic_made && !dynamic_known)
		return NULL; /* predefined handles, e.g. two names of the same datatype, or no handles */
	uint32_t id = class < RDB_CLASSES ? rdb_id(class, known) : 0;

	if (!class || class >= RDB_CLASSES || !rdb_id(class, made) || !id)
		return restart_refuse("", "an MPI object got another handle than in the recording");
	if (dynamic_made && dynamic_known) {
		object_move(object_of(class, rdb_id(class, made)), id);
	} else if (dynamic_made) {
		object_drop(object_of(class, rdb_id(class, made)));
	} else if (class == RDB_TYPE) {
		MPI_Datatype copy;

		if (PMPI_Type_dup(REAL(MPI_Datatype, object_of(class, rdb_id(class, made))->real), &copy))
			return restart_refuse("", "a datatype cannot be made again");
		PMPI_Type_commit(&copy);
		type_describe((struct vtype *)object_at(class, id, BITS(copy)));
	} else {
		object_at(class, id, object_of(class, rdb_id(class, made))->real);
	}
	return NULL;
}
