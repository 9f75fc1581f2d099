/* What a branch began with in MPI, on disk: for restarts of that branch, whose log does not say how it came to be.
 *
 * The calls that made what there was, with what they were given and what came out; what was pending; and the messages
 * that were under way, which left again from here.  `mpi-begun` says in words what readers of the branch's log need.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "windows.h"
#include "restart.h"

#define MAGIC 0x31696e6d62647200ull
#define PARTS 8
#define LARGEST (1 << 22) /* bytes that one argument may point to */

enum tag { CALL = 1, PENDING, MESSAGE, WINDOW, END };

/* What an argument pointed to. */
struct part {
	uint32_t place, len;
	char *before, *after;
};

struct entry {
	struct entry *next;
	uint32_t index, nargs, nparts;
	uint64_t args[TRANSLATION_ARGUMENTS];
	struct part parts[PARTS];
};

struct message {
	struct message *next;
	int dest, tag; /* canonical */
	uint32_t comm, len;
	char *packed;
};

struct saved {
	uint32_t kind, id, cancelled, looked, lost;
	int32_t count, source, tag;
	uint32_t type, comm, index, nargs, nheld;
	uint64_t buf, args[TRANSLATION_ARGUMENTS];
	uint32_t held[PENDING_HANDLES][2];
	char name[64];
};

static struct {
	struct entry *first, **last, *now;
	struct message *messages, **last_message;
	struct message *old; /* that were under way when a branch began */
} journal = {.last = &journal.first, .last_message = &journal.messages};

static void *room(size_t bytes)
{
	void *memory = calloc(1, bytes + 1);

	if (!memory)
		host->fatal("out of memory in the MPI boundary");
	return memory;
}

/* ---- calls ---- */

static size_t reach(unsigned index, uint32_t nargs, const uint64_t *a)
{
	const char *handles = real_functions[index].handles;
	size_t most = 0;

	for (unsigned i = 0; i < nargs && handles[i]; i++)
		if (handles[i] == '.' && a[i] < 1 << 20 && a[i] > most)
			most = a[i];
	if (index == RDB_Dist_graph_create)
		for (int i = 0; i < (int)a[1]; i++)
			most += (size_t)((int *)a[3])[i];
	if (index == RDB_Graph_create && (int)a[1] > 0)
		most += (size_t)((int *)a[2])[(int)a[1] - 1];
	most = 1024 + 16 * most;
	return most < LARGEST ? most : LARGEST;
}

/* Not the address is of interest, but what is there. */
static bool points(unsigned index, unsigned place, uint64_t value)
{
	const char *handles = real_functions[index].handles;

	if (value < 4096 || place >= strlen(handles))
		return false;
	if (index == RDB_Buffer_detach)
		return true;
	return handles[place] == '*' && index != RDB_Op_create && index != RDB_Init;
}

static void drop(struct entry **at)
{
	struct entry *gone = *at;

	*at = gone->next;
	if (!*at)
		journal.last = at;
	for (uint32_t i = 0; i < gone->nparts; i++) {
		free(gone->parts[i].before);
		free(gone->parts[i].after);
	}
	free(gone);
}

static uint32_t made_window(const struct entry *one)
{
	uint32_t place = one->index == RDB_Win_create_dynamic ? 2 : 5;

	for (uint32_t i = 0; i < one->nparts; i++)
		if (one->parts[i].place == place && one->parts[i].after)
			return rdb_id(RDB_WIN, *(void **)one->parts[i].after);
	return 0;
}

/* Memory of a window that is gone may be gone, too. */
static void forget_window(uint32_t id, const uint64_t *attached)
{
	for (struct entry **at = &journal.first; *at;) {
		bool makes = (*at)->index == RDB_Win_create || (*at)->index == RDB_Win_create_dynamic;
		bool attaches = (*at)->index == RDB_Win_attach && (*at)->args[0] == id;

		if ((makes && !attached && made_window(*at) == id) ||
		    (attaches && (!attached || (*at)->args[1] == *attached)))
			drop(at);
		else
			at = &(*at)->next;
	}
}

void restart_journal_asked(unsigned index, uint32_t nargs, const uint64_t *a)
{
	struct entry *one;

	journal.now = NULL;
	if (index == RDB_Win_free || index == RDB_Win_detach) {
		if (index == RDB_Win_free)
			forget_window(rdb_id(RDB_WIN, *(void **)a[0]), NULL);
		else
			forget_window((uint32_t)a[0], &a[1]);
		return;
	}
	one = room(sizeof(*one));
	one->index = index == RDB_Comm_idup ? RDB_Comm_dup : index; /* it was complete, or is at the cut */
	one->nargs = index == RDB_Comm_idup ? 2 : nargs;
	memcpy(one->args, a, one->nargs * sizeof(*a));
	for (unsigned i = 0; i < one->nargs && one->nparts < PARTS; i++) {
		struct part *part = &one->parts[one->nparts];

		if (!points(index, i, a[i]))
			continue;
		part->place = i;
		part->before = room(reach(index, nargs, a));
		part->len = (uint32_t)host->copy(part->before, (void *)a[i], reach(index, nargs, a));
		one->nparts++;
	}
	*journal.last = one;
	journal.last = &one->next;
	journal.now = one;
}

void restart_journal_answered(void)
{
	struct entry *one = journal.now;

	journal.now = NULL;
	for (uint32_t i = 0; one && i < one->nparts; i++) {
		struct part *part = &one->parts[i];

		part->after = room(part->len);
		host->copy(part->after, (void *)one->args[part->place], part->len);
	}
}

/* ---- messages ---- */

void restart_journal_message(int dest, int tag, const struct vcomm *comm, const char *packed, int len)
{
	struct message *one = room(sizeof(*one));

	*one = (struct message){.dest = rank_out(dest), .tag = tag, .comm = comm->o.id, .len = (uint32_t)len};
	one->packed = room((size_t)len);
	memcpy(one->packed, packed, (size_t)len);
	*journal.last_message = one;
	journal.last_message = &one->next;
}

const char *restart_journal_send(unsigned which)
{
	struct message *one = journal.old;
	MPI_Request request;
	int rc;

	while (one && which--)
		one = one->next;
	if (!one)
		return restart_refuse("", "a message that was under way when the branch began is not known");
	struct vcomm *comm = comm_of(one->comm);

	/* its bytes stay where they are */
	rc = PMPI_Isend(one->packed, (int)one->len, MPI_PACKED, rank_in(one->dest), one->tag, comm->o.real, &request);
	if (rc == MPI_SUCCESS)
		rc = PMPI_Request_free(&request);
	if (rc != MPI_SUCCESS)
		return restart_refuse("", "a message that was under way could not be sent again");
	restart_journal_message(rank_in(one->dest), one->tag, comm, one->packed, (int)one->len);
	return NULL;
}

/* ---- to disk ---- */

static bool put_out(FILE *file, uint32_t tag, const void *data, size_t len)
{
	return fwrite(&tag, sizeof(tag), 1, file) == 1 && (!len || fwrite(data, len, 1, file) == 1);
}

static bool save_call(FILE *file, const struct entry *one)
{
	bool good = put_out(file, CALL, one, sizeof(*one));

	for (uint32_t i = 0; i < one->nparts; i++) {
		const struct part *part = &one->parts[i];

		good &= fwrite(part->before, part->len + 1, 1, file) == 1;
		good &= fwrite(part->after ? part->after : part->before, part->len + 1, 1, file) == 1;
	}
	return good;
}

static bool save_pending(FILE *file, const struct pending *one)
{
	struct saved saved = {
		.kind = one->kind == POSTS_COPY ? POSTS_DONE : one->kind,
		.id = one->id,
		.cancelled = one->cancelled,
		.looked = one->looked,
		.lost = one->lost,
		.count = one->count,
		.source = rank_out(one->source),
		.tag = tag_out(one->tag),
		.type = one->type ? one->type->o.id : 0,
		.comm = one->comm ? one->comm->o.id : 0,
		.index = one->index,
		.nargs = one->nargs,
		.buf = (uint64_t)one->buf,
	};

	memcpy(saved.args, one->args, sizeof(saved.args));
	if (one->type && type_of(one->type->o.id) != one->type)
		saved.lost = true;
	for (; saved.nheld < PENDING_HANDLES && one->held[saved.nheld]; saved.nheld++) {
		const struct vobject *held = one->held[saved.nheld];

		saved.lost |= object_of(held->class, held->id) != held;
		saved.held[saved.nheld][0] = one->held[saved.nheld]->class;
		saved.held[saved.nheld][1] = one->held[saved.nheld]->id;
	}
	snprintf(saved.name, sizeof(saved.name), "%s", one->name);
	return put_out(file, PENDING, &saved, sizeof(saved));
}

static uint32_t comm_among(const struct pending *one)
{
	for (unsigned i = 0; i < PENDING_HANDLES && one->held[i]; i++)
		if (one->held[i]->class == RDB_COMM)
			return one->held[i]->id;
	return 0;
}

static void save_window(FILE *file, uint32_t id)
{
	MPI_Group group, world;
	int size = 0, rank;

	PMPI_Win_get_group(REAL(MPI_Win, win_of(id)->o.real), &group);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_size(group, &size);
	fprintf(file, "window=%u ranks=", id);
	for (int i = 0; i < size; i++) {
		PMPI_Group_translate_ranks(group, 1, &i, world, &rank);
		fprintf(file, "%s%d", i ? "," : "", rank);
	}
	fprintf(file, "\n");
	PMPI_Group_free(&group);
	PMPI_Group_free(&world);
}

static bool save_words(FILE *file)
{
	const struct table *comms = &tables[RDB_COMM];
	char text[512];

	for (uint32_t id = RDB_FIRST_DYNAMIC; id < comms->next; id++) {
		const struct vcomm *comm = (struct vcomm *)comms->slot[id];

		if (comm->o.id != id || !comm->o.real)
			continue;
		comm_text(comm, text, sizeof(text));
		fprintf(file, "%s\n", text);
	}
	for (const struct message *one = journal.messages; one; one = one->next)
		fprintf(file, "send peer=%d tag=%d comm=%u bytes=%u\n",
			comm_world_rank(comm_of(one->comm), rank_in(one->dest)), one->tag, one->comm, one->len);
	for (const struct pending *one = restart_first; one; one = one->next)
		if (one->kind == POSTS_COLLECTIVE)
			fprintf(file, "collective request=%u comm=%u\n", one->id, comm_among(one));
	for (const struct open_window *one = restart_windows; one; one = one->next)
		save_window(file, one->id);
	return !ferror(file);
}

static const char *not_saved(FILE *file)
{
	if (file)
		fclose(file);
	return restart_refuse("", "what it has in MPI cannot be saved in the branch");
}

static FILE *open_in(const char *folder, const char *name, bool new)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, new ? O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
	return fd < 0 ? NULL : fdopen(fd, new ? "w" : "r");
}

const char *restart_journal_save(const char *folder)
{
	FILE *file = open_in(folder, "mpi-objects", true);
	uint64_t magic = MAGIC;
	bool good = file && fwrite(&magic, sizeof(magic), 1, file) == 1;

	for (const struct entry *one = journal.first; good && one; one = one->next)
		good = save_call(file, one);
	for (const struct pending *one = restart_first; good && one; one = one->next)
		good = save_pending(file, one);
	for (const struct message *one = journal.messages; good && one; one = one->next)
		good = put_out(file, MESSAGE, one, sizeof(*one)) && fwrite(one->packed, one->len + 1, 1, file) == 1;
	for (const struct open_window *one = restart_windows; good && one; one = one->next)
		good = put_out(file, WINDOW, one, sizeof(*one));
	good = good && put_out(file, END, NULL, 0);
	if (!good || fclose(file))
		return not_saved(good ? NULL : file);
	file = open_in(folder, "mpi-begun", true);
	if (!file || !save_words(file))
		return not_saved(file);
	return fclose(file) ? not_saved(NULL) : NULL;
}

/* ---- and back ---- */

static const char *call_again(struct entry *one)
{
	uint64_t a[TRANSLATION_ARGUMENTS];
	const char *name = real_functions[one->index].name, *why = NULL;

	memcpy(a, one->args, sizeof(a));
	for (uint32_t i = 0; i < one->nparts; i++) {
		a[one->parts[i].place] = (uint64_t)room(one->parts[i].len);
		memcpy((void *)a[one->parts[i].place], one->parts[i].before, one->parts[i].len);
	}
	if (strstr(name, "Win_"))
		why = restart_window_asked(one->index, a);
	if (!why && (int)restart_silent_call(one->index, one->nargs, a))
		why = restart_refuse(name, "it fails now");
	for (uint32_t i = 0; !why && i < one->nparts; i++) {
		char *now = (char *)a[one->parts[i].place];

		for (uint32_t at = 0; !why && at + 8 <= one->parts[i].len; at += 8) {
			uint64_t two[2];

			memcpy(&two[0], now + at, 8);
			memcpy(&two[1], one->parts[i].after + at, 8);
			/* what it did not write now is another's */
			if (two[0] != two[1] && (!at || memcmp(now + at, one->parts[i].before + at, 8)))
				why = restart_renamed(two);
		}
		memcpy(now, one->parts[i].after, one->parts[i].len);
	}
	if (!why && strstr(name, "Win_"))
		why = restart_window_answered(one->index, one->nargs, a);
	for (uint32_t i = 0; i < one->nparts; i++)
		free((void *)a[one->parts[i].place]);
	return why;
}

static bool load_call(FILE *file, const char **why)
{
	struct entry *one = room(sizeof(*one));

	if (fread(one, sizeof(*one), 1, file) != 1 || one->index >= real_function_count || one->nparts > PARTS ||
	    one->nargs > TRANSLATION_ARGUMENTS)
		return false;
	one->next = NULL;
	for (uint32_t i = 0; i < one->nparts; i++) {
		struct part *part = &one->parts[i];

		if (part->len > LARGEST || part->place >= TRANSLATION_ARGUMENTS)
			return false;
		part->before = room(part->len);
		part->after = room(part->len);
		if (fread(part->before, part->len + 1, 1, file) != 1 || fread(part->after, part->len + 1, 1, file) != 1)
			return false;
	}
	*journal.last = one;
	journal.last = &one->next;
	*why = call_again(one);
	return true;
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
	one->lost = saved.lost;
	one->buf = (void *)saved.buf;
	one->count = saved.count;
	one->source = rank_in(saved.source);
	one->tag = tag_in(saved.tag);
	one->index = saved.index;
	one->nargs = saved.nargs;
	memcpy(one->args, saved.args, sizeof(one->args));
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
	struct message *one = room(sizeof(*one)), **at = &journal.old;

	if (fread(one, sizeof(*one), 1, file) != 1)
		return false;
	one->next = NULL;
	one->packed = room(one->len);
	if (fread(one->packed, one->len + 1, 1, file) != 1)
		return false;
	while (*at)
		at = &(*at)->next;
	*at = one;
	return true;
}

const char *restart_journal_load(const char *folder)
{
	FILE *file = open_in(folder, "mpi-objects", false);
	const char *why = NULL;
	uint64_t magic = 0;
	uint32_t tag = 0;
	bool good = file && fread(&magic, sizeof(magic), 1, file) == 1 && magic == MAGIC;

	while (good && !why && tag != END) {
		good = fread(&tag, sizeof(tag), 1, file) == 1;
		switch (good ? tag : 0) {
		case CALL: good = load_call(file, &why); break;
		case PENDING: good = load_pending(file); break;
		case MESSAGE: good = load_message(file); break;
		case WINDOW: good = restart_window_load(file); break;
		case END: break;
		default: good = false;
		}
	}
	if (file)
		fclose(file);
	return why ? why : good ? NULL : restart_refuse("", "what the branch began with in MPI cannot be brought back");
}
