#include "lower/restart/ports.h"
#include <stdlib.h>

enum { NAME = 1024 }; /* MPI_MAX_PORT_NAME of Open MPI, with the null character */

struct names {
	char known[NAME], now[NAME];
};

/* On the way to the cut: ports that this rank has open, and names that it has published. */
static struct port {
	struct port *next;
	char known[NAME];
	char *service; /* of a published name; NULL: an open port */
	MPI_Info info;
} * ports;

static struct {
	struct names *list;
	int count;
} all;

bool ports_renamed;

bool ports_concern(unsigned index)
{
	return index == RDB_Open_port || index == RDB_Close_port || index == RDB_Publish_name ||
	       index == RDB_Unpublish_name;
}

static void add(const char *service, uint64_t info, const char *known)
{
	struct port **last = &ports, *one = needed(calloc(1, sizeof(*one)));
	MPI_Info real = REAL(MPI_Info, info_of(info)->real);

	if (service)
		one->service = needed(strdup(service));
	snprintf(one->known, sizeof(one->known), "%s", known);
	one->info = MPI_INFO_NULL;
	if (real != MPI_INFO_NULL)
		PMPI_Info_dup(real, &one->info);
	while (*last)
		last = &(*last)->next;
	*last = one;
}

static void drop(const char *service, const char *known)
{
	for (struct port **at = &ports; *at; at = &(*at)->next) {
		struct port *one = *at;

		if (!one->service != !service || (service && strcmp(one->service, service)) ||
		    strcmp(one->known, known))
			continue;
		*at = one->next;
		if (one->info != MPI_INFO_NULL)
			PMPI_Info_free(&one->info);
		free(one->service);
		free(one);
		return;
	}
}

void ports_followed(unsigned index, const uint64_t *a)
{
	switch (index) {
	case RDB_Open_port: add(NULL, a[0], (const char *)a[1]); break;
	case RDB_Close_port: drop(NULL, (const char *)a[0]); break;
	case RDB_Publish_name: add((const char *)a[0], a[1], (const char *)a[2]); break;
	case RDB_Unpublish_name: drop((const char *)a[0], (const char *)a[2]); break;
	}
}

/* ---- the cut ---- */

static const char *now_called(const char *known)
{
	for (int i = 0; i < all.count; i++)
		if (!strcmp(all.list[i].known, known))
			return all.list[i].now;
	return known;
}

/* Opens this rank's ports again; returns their names in one array, which the caller frees. */
static struct names *open_again(int *count, const char **why)
{
	struct names *own = needed(calloc(1, sizeof(*own)));

	*count = 0;
	for (const struct port *one = ports; one && !*why; one = one->next) {
		char now[MPI_MAX_PORT_NAME] = "";

		if (one->service)
			continue;
		if (PMPI_Open_port(one->info, now) != MPI_SUCCESS || strlen(now) >= NAME)
			*why = restart_refuse("MPI_Open_port", "its port cannot be opened again over this MPI");
		own = needed(realloc(own, ((size_t)*count + 1) * sizeof(*own)));
		memset(&own[*count], 0, sizeof(*own));
		strcpy(own[*count].known, one->known);
		strcpy(own[(*count)++].now, now);
	}
	return own;
}

static const char *publish_again(void)
{
	for (const struct port *one = ports; one; one = one->next)
		if (one->service && PMPI_Publish_name(one->service, one->info, now_called(one->known)) != MPI_SUCCESS)
			return restart_refuse("MPI_Publish_name", "its name cannot be published again over this MPI");
	return NULL;
}

/* All ranks gather the names of all ports. */
const char *ports_cut(void)
{
	const char *why = NULL;
	int count, size, *bytes, *from;
	struct names *own = open_again(&count, &why);

	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	bytes = needed(calloc(2 * (size_t)size + 2, sizeof(*bytes)));
	from = bytes + size;
	count *= (int)sizeof(*own);
	if (!why && PMPI_Allgather(&count, 1, MPI_INT, bytes, 1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS)
		why = restart_refuse("", "the ranks cannot exchange the names of their ports");
	for (int i = 0; i < size; i++)
		from[i + 1] = from[i] + bytes[i];
	all.count = from[size] / (int)sizeof(*own);
	if (!why && all.count) {
		all.list = needed(calloc((size_t)all.count, sizeof(*all.list)));
		if (PMPI_Allgatherv(own, count, MPI_BYTE, all.list, bytes, from, MPI_BYTE, MPI_COMM_WORLD) !=
		    MPI_SUCCESS)
			why = restart_refuse("", "the ranks cannot exchange the names of their ports");
	}
	free(own);
	free(bytes);
	ports_renamed = all.count > 0;
	why = why ? why : publish_again();
	if (!why && ports_renamed)
		PMPI_Barrier(MPI_COMM_WORLD); /* all names must be published before one is looked up */
	return why;
}

/* ---- calls of the program after the restart ---- */

static int name_given(unsigned index)
{
	switch (index) {
	case RDB_Comm_accept:
	case RDB_Comm_connect:
	case RDB_Close_port: return 0;
	case RDB_Publish_name:
	case RDB_Unpublish_name: return 2;
	default: return -1;
	}
}

const uint64_t *ports_given(unsigned index, uint32_t nargs, const uint64_t *a, uint64_t *changed)
{
	int place = name_given(index);

	if (place < 0 || !a[place])
		return a;
	memcpy(changed, a, nargs * sizeof(*a));
	changed[place] = (uint64_t)now_called((const char *)a[place]);
	return changed;
}

void ports_told(unsigned index, const uint64_t *a, int64_t result)
{
	char *told = (char *)a[2];

	if (index != RDB_Lookup_name || result != MPI_SUCCESS || !told)
		return;
	for (int i = 0; i < all.count; i++)
		if (!strcmp(all.list[i].now, told)) {
			put(told, all.list[i].known, strlen(all.list[i].known) + 1);
			return;
		}
}
