/* Partitioned requests are made at the cut, not before: in their order, in all ranks.  They are started if the program
 * had started them, with the partitions that it had made ready; partitions that the program has seen arrive are its
 * own.  At a cut no transfer is complete at one end only (rdb/recording/messages/partitioned.py), so the data of ready
 * partitions is still in the sender's buffer. */
#include "lower/objects/large.h"
#include "lower/objects/pending.h"
#include "lower/restart/restart.h"

int64_t real_Pready(const uint64_t *a);

static bool receives(const struct pending *one)
{
	return strstr(one->name, "Precv_init") != NULL;
}

void restart_parts_made(struct pending *one)
{
	struct vreq *request = (struct vreq *)object_at(RDB_REQUEST, one->id, NULL);

	request->persistent = true;
	request->partitioned = true;
	one->parts = (uint32_t)one->args[1];
	one->settled = needed(calloc(one->parts + 1, 1));
}

void restart_parts_started(struct pending *one)
{
	if (one)
		one->started = true;
}

void restart_parts_complete(struct pending *one)
{
	one->started = one->looked = false;
	memset(one->settled, 0, one->parts);
}

void restart_parts_freed(struct pending **at)
{
	object_drop(&request_of((*at)->id)->o);
	restart_settled(at);
}

static void settle(struct pending *one, int64_t part)
{
	if (part >= 0 && part < one->parts)
		one->settled[part] = 1;
}

/* partition, request; partition_low, partition_high, request; length, array_of_partitions, request */
void restart_parts_ready(const char *name, const uint64_t *a)
{
	bool range = strstr(name, "range"), list = strstr(name, "list");
	struct pending *one = *restart_find((uint32_t)a[range || list ? 2 : 1]);

	if (!one || one->kind != PARTITIONED)
		return;
	if (list) {
		for (int i = 0; i < (int)a[0]; i++)
			settle(one, ((int *)a[1])[i]);
		return;
	}
	for (int i = (int)a[0]; i <= (range ? (int)a[1] : (int)a[0]); i++)
		settle(one, i);
}

/* request, partition, flag */
void restart_parts_arrived(const uint64_t *a)
{
	struct pending *one = *restart_find((uint32_t)a[0]);

	if (one && one->kind == PARTITIONED && one->started && a[2] && *(int *)a[2])
		settle(one, (int)a[1]);
}

static int ready(const struct pending *one)
{
	int64_t rc = MPI_SUCCESS;

	for (uint32_t i = 0; i < one->parts && rc == MPI_SUCCESS; i++)
		if (one->settled[i])
			rc = real_Pready((uint64_t[]){i, one->id});
	return (int)rc;
}

const char *restart_parts_again(struct pending *one)
{
	struct vobject *before = object_of(RDB_REQUEST, one->id);
	struct vreq *request;
	MPI_Request real;

	/* the info object may have been freed; it is only a hint */
	if (info_of(one->args[7])->id != one->args[7])
		one->args[7] = RDB_NULL_ID;
	if (!MPI_4 || !restart_post_again(one))
		return restart_refuse(one->name, restart_failed_here());
	object_drop(before);
	request = request_of(one->id);
	if (!one->started)
		return NULL;
	real = REAL(MPI_Request, request->o.real);
	if (PMPI_Start(&real) != MPI_SUCCESS)
		return restart_refuse(one->name, "it cannot be started again");
	request->o.real = BITS(real);
	request->active = true;
	request->delivered = false;
	request->starts = 1;
	if (receives(one)) {
		for (uint32_t i = 0; i < one->parts; i++)
			if (one->settled[i])
				pending_part_there(request->pending, i);
	} else if (ready(one) != MPI_SUCCESS) {
		return restart_refuse(one->name, "its partitions cannot be sent again");
	}
	return NULL;
}

void restart_parts_words(FILE *file, const struct pending *one)
{
	fprintf(file, "partitioned %s request=%u comm=%d peer=%d tag=%d parts=%u started=%d settled=",
		receives(one) ? "receive" : "send", one->id, (int)one->args[6], (int)one->args[4], (int)one->args[5],
		one->parts, one->started);
	for (uint32_t i = 0; i < one->parts; i++)
		fputc(one->settled[i] ? '1' : '0', file);
	fprintf(file, "\n");
}
