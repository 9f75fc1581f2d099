/* Saves the journal to disk. */
#include "lower/core/wtime.h"
#include "lower/restart/restart_journal.h"
#include "lower/objects/staged_read.h"
#include "lower/checkpoint/coordinated_state.h"
#include "lower/windows/windows.h"
#include "lower/objects/worlds.h"

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
		.complete = one->complete,
		.lost = one->lost,
		.count = one->count,
		.source = rank_out(one->source),
		.tag = tag_out(one->tag),
		.type = one->type ? one->type->o.id : 0,
		.comm = one->comm ? one->comm->o.id : 0,
		.index = one->index,
		.nargs = one->nargs,
		.buf = (uint64_t)one->buf,
		.file = one->file,
		.bytes = one->bytes,
		.started = one->started,
		.parts = one->parts,
	};
	struct bytes read = {0};
	bool good;

	memcpy(saved.args, one->args, sizeof(saved.args));
	saved.lost |= one->large;
	if (one->type && type_of(one->type->o.id) != one->type)
		saved.lost = true;
	for (; saved.nheld < PENDING_HANDLES && one->held[saved.nheld]; saved.nheld++) {
		const struct vobject *held = one->held[saved.nheld];

		saved.lost |= object_of(held->class, held->id) != held;
		saved.held[saved.nheld][0] = one->held[saved.nheld]->class;
		saved.held[saved.nheld][1] = one->held[saved.nheld]->id;
	}
	snprintf(saved.name, sizeof(saved.name), "%s", one->name);
	if (one->file)
		saved.lost |= !flight_put(&read, one->flight);
	saved.flight = (uint32_t)read.len;
	good = put_out(file, PENDING, &saved, sizeof(saved)) &&
	       (!one->settled || fwrite(one->settled, one->parts + 1, 1, file) == 1) &&
	       (!read.len || fwrite(read.base, read.len, 1, file) == 1);
	free(read.base);
	return good;
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
	MPI_Group group;
	int size = 0, *ranks;

	PMPI_Win_get_group(REAL(MPI_Win, win_of(id)->o.real), &group);
	PMPI_Group_size(group, &size);
	ranks = journal_room((size_t)size * sizeof(int));
	worlds_ranks(group, size, ranks);
	fprintf(file, "window=%u ranks=", id);
	for (int i = 0; i < size; i++)
		fprintf(file, "%s%d", i ? "," : "", ranks[i]);
	fprintf(file, "\n");
	PMPI_Group_free(&group);
	free(ranks);
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
		if (topology_text(comm, text, sizeof(text)))
			fprintf(file, "%s\n", text);
	}
	for (const struct message *one = journal.messages; one; one = one->next) {
		if (comm_of(one->comm) != one->held) {
			comm_text(one->held, text, sizeof(text));
			fprintf(file, "freed %s\n", text);
		}
		fprintf(file, "send peer=%d tag=%d comm=%u bytes=%u\n", comm_world_rank(one->held, rank_in(one->dest)),
			one->tag, one->comm, one->len);
	}
	for (const struct pending *one = restart_first; one; one = one->next)
		if (one->kind == POSTS_COLLECTIVE)
			fprintf(file, "collective request=%u comm=%u\n", one->id, comm_among(one));
	for (const struct pending *one = restart_first; one; one = one->next)
		if (one->kind == PARTITIONED)
			restart_parts_words(file, one);
	for (const struct open_window *one = restart_windows; one; one = one->next)
		save_window(file, one->id);
	return !ferror(file);
}

static const char *not_saved(FILE *file)
{
	if (file)
		fclose(file);
	return restart_refuse("", "its state of MPI cannot be saved in the branch");
}

const char *restart_journal_save(const char *folder)
{
	FILE *file = journal_open(folder, "mpi-objects", true);
	uint64_t magic = JOURNAL_MAGIC;
	int64_t time = wtime_last();
	bool good = file && fwrite(&magic, sizeof(magic), 1, file) == 1 && put_out(file, TIME, &time, sizeof(time));

	for (const struct message *one = journal.messages; good && one; one = one->next)
		good = put_out(file, MESSAGE, one, sizeof(*one)) && fwrite(one->packed, one->len + 1, 1, file) == 1;
	for (const struct entry *one = journal.first; good && one; one = one->next)
		good = save_call(file, one);
	for (const struct pending *one = restart_first; good && one; one = one->next)
		good = save_pending(file, one);
	for (const struct open_window *one = restart_windows; good && one; one = one->next)
		good = put_out(file, WINDOW, one, sizeof(*one));
	good = good && put_out(file, END, NULL, 0);
	if (!good || fclose(file))
		return not_saved(good ? NULL : file);
	file = journal_open(folder, "mpi-begun", true);
	if (!file || !save_words(file))
		return not_saved(file);
	return fclose(file) ? not_saved(NULL) : NULL;
}
