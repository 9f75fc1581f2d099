#include "lower/objects/worlds.h"
#include <limits.h>

MPI_Comm own_world = MPI_COMM_WORLD;
bool worlds_again;
enum { OTHERS = -2, LEADERS_TAG = 0x77 };

/* A group of processes of other worlds, with their numbers in the job. */
static struct met {
	struct met *next;
	MPI_Group group;
	int *numbers; /* NULL: the number of each is its rank in the group */
} * met;

static struct {
	uint32_t id;
	uint64_t context; /* tells it from another communicator that got the same id */
} parent;

static void has_parent(uint32_t id)
{
	parent.id = id;
	parent.context = comm_of(id)->context;
}

static void meet(MPI_Group group, int *numbers)
{
	struct met *one = needed(malloc(sizeof(*one)));

	*one = (struct met){.next = met, .group = group, .numbers = numbers};
	met = one;
}

void worlds_begin(void)
{
	MPI_Group all;
	int rank;

	if (!host->worlds)
		return;
	PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank != host->rank)
		host->fatal("the launcher has started rank %d as rank %d", host->rank, rank);
	if (BLOCKING(PMPI_Comm_split(MPI_COMM_WORLD, host->world_first, rank, &own_world)) != MPI_SUCCESS)
		host->fatal("MPI_Comm_split fails, which is to join the processes of the program's MPI_COMM_WORLD");
	PMPI_Comm_group(MPI_COMM_WORLD, &all);
	meet(all, NULL);
}

void worlds_met(MPI_Comm inter)
{
	MPI_Group group;
	int n = 0, *numbers;

	PMPI_Comm_remote_size(inter, &n);
	numbers = needed(malloc((n + 1) * sizeof(int)));
	if (BLOCKING(PMPI_Allgather(&host->rank, 1, MPI_INT, numbers, 1, MPI_INT, inter)) != MPI_SUCCESS)
		host->fatal("MPI_Comm_spawn: parents and children cannot exchange their ranks");
	PMPI_Comm_remote_group(inter, &group);
	meet(group, numbers);
}

void worlds_begun(void)
{
	MPI_Comm real = MPI_COMM_NULL;

	if (worlds_again) {
		/* a copy, so that messages by which groups meet are not mistaken for the program's in MPI_COMM_WORLD */
		if (BLOCKING(PMPI_Comm_dup(MPI_COMM_WORLD, &real)) != MPI_SUCCESS)
			host->fatal("MPI_Comm_dup fails, which is to join the processes of the restart");
		object_at(RDB_COMM, ALL_WORLDS, BITS(real));
		comm_describe(comm_of(ALL_WORLDS));
	} else if (PMPI_Comm_get_parent(&real) == MPI_SUCCESS && real != MPI_COMM_NULL) {
		PMPI_Comm_set_errhandler(real, MPI_ERRORS_RETURN);
		worlds_met(real);
		has_parent(comm_new(real, "MPI_Comm_get_parent")->o.id);
	}
}

void worlds_ranks(MPI_Group group, int n, int *ranks)
{
	int *all = needed(malloc((n + 1) * sizeof(int)));
	MPI_Group world;

	for (int i = 0; i < n; i++)
		all[i] = i;
	PMPI_Comm_group(own_world, &world);
	PMPI_Group_translate_ranks(group, n, all, world, ranks);
	free(all);
	for (int i = 0; i < n; i++) {
		if (ranks[i] != MPI_UNDEFINED)
			continue;
		ranks[i] = -1;
		for (const struct met *one = met; one && ranks[i] == -1; one = one->next) {
			int there = MPI_UNDEFINED;

			PMPI_Group_translate_ranks(group, 1, &i, one->group, &there);
			if (there != MPI_UNDEFINED)
				ranks[i] = OTHERS - (one->numbers ? one->numbers[there] : there);
		}
	}
	PMPI_Group_free(&world);
}

bool worlds_known(MPI_Comm comm)
{
	MPI_Group group;
	int n = 0, *ranks;
	bool known = true;

	PMPI_Comm_group(comm, &group);
	PMPI_Group_size(group, &n);
	ranks = needed(malloc((n + 1) * sizeof(int)));
	worlds_ranks(group, n, ranks);
	for (int i = 0; i < n; i++)
		known &= ranks[i] != -1;
	free(ranks);
	PMPI_Group_free(&group);
	return known;
}

static bool group_within(MPI_Group group)
{
	MPI_Group world, others;
	int n = 0;

	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_difference(group, world, &others);
	PMPI_Group_size(others, &n);
	if (others != MPI_GROUP_EMPTY)
		PMPI_Group_free(&others);
	PMPI_Group_free(&world);
	PMPI_Group_free(&group);
	return !n;
}

bool worlds_within(const struct vcomm *comm)
{
	MPI_Group group;

	if (!comm->o.real || PMPI_Comm_group(REAL(MPI_Comm, comm->o.real), &group) != MPI_SUCCESS ||
	    !group_within(group))
		return false;
	return !comm->inter ||
	       (PMPI_Comm_remote_group(REAL(MPI_Comm, comm->o.real), &group) == MPI_SUCCESS && group_within(group));
}

uint32_t worlds_parent(void)
{
	const struct vcomm *comm = comm_of(parent.id);

	return parent.id && comm->o.real && comm->context == parent.context ? parent.id : RDB_NULL_ID;
}

const uint64_t *worlds_join(const char *recorded, uint64_t comm, uint64_t out)
{
	static uint64_t a[TRANSLATION_ARGUMENTS];
	const char *ranks = strstr(recorded, " ranks=");
	int first;

	if (!ranks || sscanf(ranks, " ranks=%d", &first) != 1 || first == -1 || (first <= OTHERS && !host->worlds))
		return NULL;
	a[0] = comm;
	a[1] = 0;
	a[2] = ALL_WORLDS;
	first = first <= OTHERS ? OTHERS - first : first + host->world_first;
	a[3] = (uint64_t)(int64_t)first;
	a[4] = LEADERS_TAG;
	a[5] = out;
	return a;
}

void worlds_joined(unsigned index, const uint64_t *a, const void *handle)
{
	if (index == RDB_Intercomm_create && a[2] == ALL_WORLDS && host->world_first && !parent.id)
		has_parent(rdb_id(RDB_COMM, handle));
}
