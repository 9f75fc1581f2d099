/* The journal on the way to a cut: calls, and messages that are sent again. */
#include "lower/restart/restart_journal.h"
#include "lower/windows/windows.h"
#include <fcntl.h>
#include "base/private.h"

struct journal journal = {.last = &journal.first, .last_message = &journal.messages};

void *journal_room(size_t bytes)
{
	void *memory = needed(calloc(1, bytes + 1));

	return memory;
}

FILE *journal_open(const char *folder, const char *name, bool new)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = new ? private_open(AT_FDCWD, path, O_WRONLY | O_EXCL) : open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, new ? "w" : "r");
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

/* Whether the journal needs the memory that this argument points to. */
static bool points(unsigned index, unsigned place, uint64_t value)
{
	const char *handles = real_functions[index].handles;

	if (value < 4096 || place >= strlen(handles))
		return false;
	if (index == RDB_Buffer_detach)
		return true;
	if (index == RDB_Op_create)
		return place == 2; /* the others are functions */
	return handles[place] == '*' && index != RDB_Init;
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

/* Drops entries of a freed window or detached memory: the memory may be unmapped when the branch is restarted. */
static void forget_window(uint32_t id, const uint64_t *attached)
{
	for (struct entry **at = &journal.first; *at;) {
		bool makes = (*at)->index == RDB_Win_create || (*at)->index == RDB_Win_create_dynamic;
		bool attaches = (*at)->index == RDB_Win_attach && (*at)->args[0] == id;
		bool sets = ((*at)->index == RDB_Win_set_name || (*at)->index == RDB_Win_set_info) &&
			    (*at)->args[0] == id;

		if ((makes && !attached && made_window(*at) == id) || (sets && !attached) ||
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
	journal.gives = false;
	if (index == RDB_Win_free || index == RDB_Win_detach) {
		if (index == RDB_Win_free)
			forget_window(rdb_id(RDB_WIN, *(void **)a[0]), NULL);
		else
			forget_window((uint32_t)a[0], &a[1]);
		return;
	}
	if (journal_gives(index)) {
		journal.gives = true;
		journal.giver = index;
		memcpy(journal.given, a, nargs * sizeof(*a));
		return;
	}
	one = journal_room(sizeof(*one));
	one->index = index == RDB_Comm_idup ? RDB_Comm_dup : index; /* complete at the cut at the latest */
	one->nargs = index == RDB_Comm_idup ? 2 : nargs;
	memcpy(one->args, a, one->nargs * sizeof(*a));
	for (unsigned i = 0; i < one->nargs && one->nparts < PARTS; i++) {
		struct part *part = &one->parts[one->nparts];

		if (!points(index, i, a[i]))
			continue;
		part->place = i;
		part->before = journal_room(reach(index, nargs, a));
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

	if (journal.gives)
		journal_given(journal.giver, journal.given);
	journal.gives = false;
	journal.now = NULL;
	for (uint32_t i = 0; one && i < one->nparts; i++) {
		struct part *part = &one->parts[i];

		part->after = journal_room(part->len);
		host->copy(part->after, (void *)one->args[part->place], part->len);
	}
}

static void add(struct entry *one)
{
	*journal.last = one;
	journal.last = &one->next;
}

/* ---- messages ---- */

/* The entry marks the place in the journal where the message was sent: its communicator may be freed later. */
static void remember(struct message *one, struct vcomm *comm, struct entry *entry)
{
	one->held = object_hold(comm);
	one->entry = entry;
	entry->index = JOURNAL_SENT;
	entry->args[0] = 0;
	for (const struct message *other = journal.messages; other != one; other = other->next)
		entry->args[0]++;
}

static void leaves(int dest, int tag, const struct vcomm *comm, const char *packed, int len, struct entry *entry)
{
	struct message *one = journal_room(sizeof(*one));

	*one = (struct message){.dest = rank_out(dest), .tag = tag, .comm = comm->o.id, .len = (uint32_t)len};
	one->packed = journal_room((size_t)len);
	memcpy(one->packed, packed, (size_t)len);
	*journal.last_message = one;
	journal.last_message = &one->next;
	remember(one, (struct vcomm *)comm, entry ? entry : journal_room(sizeof(*entry)));
	if (!entry)
		add(one->entry);
}

void restart_journal_message(int dest, int tag, const struct vcomm *comm, const char *packed, int len)
{
	leaves(dest, tag, comm, packed, len, NULL);
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
	struct vcomm *comm = one->held ? one->held : comm_of(one->comm);

	/* the request can be freed: the bytes are never freed */
	rc = PMPI_Isend(one->packed, (int)one->len, MPI_PACKED, rank_in(one->dest), one->tag, comm->o.real, &request);
	if (rc == MPI_SUCCESS)
		rc = PMPI_Request_free(&request);
	if (rc != MPI_SUCCESS)
		return restart_refuse("", "a message that was under way could not be sent again");
	leaves(rank_in(one->dest), one->tag, comm, one->packed, (int)one->len, one->entry);
	return NULL;
}
