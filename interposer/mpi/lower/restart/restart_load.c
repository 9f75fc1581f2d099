/* Loads the journal from disk and makes its objects again, before the restart of a branch goes on to its own cut. */
#include "lower/core/wtime.h"
#include "lower/restart/restart_journal.h"
#include "lower/objects/staged_read.h"
#include "lower/restart/ports.h"
#include "lower/checkpoint/coordinated_state.h"
#include "lower/windows/windows.h"
#include "lower/objects/worlds.h"

/* A message was sent here: holds its communicator, which may be freed later, or whose id another one may get. */
static const char *sent_there(struct entry *one)
{
	struct message *message = journal.old;

	for (uint64_t i = 0; message && i < one->args[0]; i++)
		message = message->next;
	one->args[0] = UINT64_MAX;
	if (message) {
		message->held = object_hold(comm_of(message->comm));
		message->entry = one;
	}
	return NULL;
}

/* Frees a communicator for the program only, if a message will be sent on it again.  False: another call. */
static bool freed_only_above(const struct entry *one)
{
	const struct vcomm *comm;

	if ((one->index != RDB_Comm_free && one->index != RDB_Comm_disconnect) || one->nparts != 1)
		return false;
	comm = comm_of(rdb_id(RDB_COMM, *(void **)one->parts[0].before));
	for (const struct message *message = journal.old; message; message = message->next)
		if (message->held == comm && comm->o.id >= RDB_FIRST_DYNAMIC) {
			object_drop(&message->held->o);
			return true;
		}
	return false;
}

static const char *call_again(struct entry *one)
{
	uint64_t a[TRANSLATION_ARGUMENTS];
	const char *name = real_functions[one->index].name, *why = NULL;

	if (one->index == RDB_Finalize) {
		restart_left = true;
		return NULL;
	}
	if (freed_only_above(one))
		return NULL;
	memcpy(a, one->args, sizeof(a));
	if (ports_concern(one->index)) {
		for (uint32_t i = 0; i < one->nparts; i++)
			a[one->parts[i].place] = (uint64_t)one->parts[i].after;
		ports_followed(one->index, a);
		return NULL;
	}
	for (uint32_t i = 0; i < one->nparts; i++) {
		a[one->parts[i].place] = (uint64_t)journal_room(one->parts[i].len);
		memcpy((void *)a[one->parts[i].place], one->parts[i].before, one->parts[i].len);
	}
	if (strstr(name, "Win_"))
		why = restart_window_asked(one->index, a);
	if (!why && (int)restart_silent_call(one->index, one->nargs, a))
		why = restart_refuse(name, "it succeeded in the recording and fails now");
	if (!why && (one->index == RDB_Add_error_class || one->index == RDB_Add_error_code) && one->nparts &&
	    memcmp((void *)a[one->parts[0].place], one->parts[0].after, sizeof(int)))
		why = restart_refuse(name, "an older rdb made other numbers");
	for (uint32_t i = 0; !why && i < one->nparts; i++) {
		char *now = (char *)a[one->parts[i].place];

		for (uint32_t at = 0; !why && at + 8 <= one->parts[i].len; at += 8) {
			uint64_t two[2];

			memcpy(&two[0], now + at, 8);
			memcpy(&two[1], one->parts[i].after + at, 8);
			/* memory that the call did not write now belongs to something else */
			if (two[0] != two[1] && (!at || memcmp(now + at, one->parts[i].before + at, 8)))
				why = restart_renamed(two);
		}
		memcpy(now, one->parts[i].after, one->parts[i].len);
	}
	if (!why && one->nparts)
		worlds_joined(one->index, one->args, *(void **)one->parts[0].after);
	if (!why && strstr(name, "Win_"))
		why = restart_window_answered(one->index, one->nargs, a);
	for (uint32_t i = 0; i < one->nparts; i++)
		free((void *)a[one->parts[i].place]);
	return why;
}

static bool load_call(FILE *file, const char **why)
{
	struct entry *one = journal_room(sizeof(*one));

	if (fread(one, sizeof(*one), 1, file) != 1 ||
	    (one->index >= real_function_count && one->index != JOURNAL_GIVEN && one->index != JOURNAL_SENT) ||
	    one->nparts > PARTS || one->nargs > TRANSLATION_ARGUMENTS)
		return false;
	one->next = NULL;
	for (uint32_t i = 0; i < one->nparts; i++) {
		struct part *part = &one->parts[i];

		if (part->len > LARGEST || part->place >= TRANSLATION_ARGUMENTS)
			return false;
		part->before = journal_room(part->len);
		part->after = journal_room(part->len);
		if (fread(part->before, part->len + 1, 1, file) != 1 || fread(part->after, part->len + 1, 1, file) != 1)
			return false;
	}
	*journal.last = one;
	journal.last = &one->next;
	if (one->index == JOURNAL_SENT)
		*why = sent_there(one);
	else
		*why = one->index == JOURNAL_GIVEN ? journal_give(one) : call_again(one);
	return true;
}

static bool load_flight(FILE *file, struct pending *one, uint32_t len)
{
	struct bytes in = {.base = journal_room(len)};
	bool lost = false;

	in.at = in.base;
	in.end = in.base + len;
	in.bad = fread(in.base, len, 1, file) != 1;
	one->flight = flight_get(&in, &lost);
	free(in.base);
	return !in.bad;
}

static bool load_pending(FILE *file)
{
	struct saved saved;
	struct pending *one;
	const char *name = "a request";

	if (fread(&saved, sizeof(saved), 1, file) != 1 || saved.nheld > PENDING_HANDLES ||
	    saved.nargs > TRANSLATION_ARGUMENTS)
		return false;
	for (unsigned i = 0; i < real_function_count; i++)
		if (!strncmp(real_functions[i].name, saved.name, sizeof(saved.name)))
			name = real_functions[i].name;
	one = restart_follow(name, (enum kind)saved.kind, saved.id);
	one->cancelled = saved.cancelled;
	one->looked = saved.looked;
	one->complete = saved.complete;
	one->lost = saved.lost;
	one->buf = (void *)saved.buf;
	one->count = saved.count;
	one->source = rank_in(saved.source);
	one->tag = tag_in(saved.tag);
	one->index = saved.index;
	one->nargs = saved.nargs;
	memcpy(one->args, saved.args, sizeof(one->args));
	one->file = saved.file;
	one->bytes = saved.bytes;
	if (saved.kind == PARTITIONED) {
		restart_parts_made(one);
		one->started = saved.started;
		if (saved.parts != one->parts || fread(one->settled, one->parts + 1, 1, file) != 1)
			return false;
	}
	if (saved.flight && !load_flight(file, one, saved.flight))
		return false;
	if (saved.type)
		one->type = object_hold(type_of(saved.type));
	if (saved.comm)
		one->comm = object_hold(comm_of(saved.comm));
	for (uint32_t i = 0; i < saved.nheld; i++)
		one->held[i] = object_hold(object_of(saved.held[i][0] % RDB_CLASSES, saved.held[i][1]));
	return one->lost ||
	       ((!one->type || one->type->o.id == saved.type) && (!one->comm || one->comm->o.id == saved.comm));
}

static bool load_message(FILE *file)
{
	struct message *one = journal_room(sizeof(*one)), **at = &journal.old;

	if (fread(one, sizeof(*one), 1, file) != 1)
		return false;
	one->next = NULL;
	one->held = NULL;
	one->entry = NULL;
	one->packed = journal_room(one->len);
	if (fread(one->packed, one->len + 1, 1, file) != 1)
		return false;
	while (*at)
		at = &(*at)->next;
	*at = one;
	return true;
}

static bool load_time(FILE *file)
{
	int64_t time;

	if (fread(&time, sizeof(time), 1, file) != 1)
		return false;
	wtime_was(time);
	return true;
}

const char *restart_journal_load(const char *folder)
{
	FILE *file = journal_open(folder, "mpi-objects", false);
	const char *why = NULL;
	uint64_t magic = 0;
	uint32_t tag = 0;
	bool good = file && fread(&magic, sizeof(magic), 1, file) == 1 && magic == JOURNAL_MAGIC;

	while (good && !why && tag != END) {
		good = fread(&tag, sizeof(tag), 1, file) == 1;
		switch (good ? tag : 0) {
		case CALL: good = load_call(file, &why); break;
		case PENDING: good = load_pending(file); break;
		case MESSAGE: good = load_message(file); break;
		case WINDOW: good = restart_window_load(file, &why); break;
		case TIME: good = load_time(file); break;
		case END: break;
		default: good = false;
		}
	}
	if (file)
		fclose(file);
	return why    ? why
	       : good ? NULL
		      : restart_refuse("", "the state of MPI with which the branch began cannot be brought back");
}
