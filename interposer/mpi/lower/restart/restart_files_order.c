/* The plan's order of the operations on MPI files: a chain of steps.  A collective is one step of all its ranks.  A
 * rank that has made its part of a step tells the first rank of the next step, which then lets the others of that step
 * begin. */
#include <stdio.h>
#include "lower/objects/real.h"
#include "lower/restart/restart_files.h"

enum { MOST_WORDS = 1 << 20 };

static struct {
	bool loaded;
	MPI_Comm comm;
	struct file_step *steps;
	size_t n, next;
} order;

static int *numbers(char **at, int *n)
{
	int *list;

	*n = (int)strtol(*at, at, 10);
	if (*n < 0 || *n > MOST_WORDS)
		return NULL;
	list = calloc((size_t)*n + 1, sizeof(*list));
	for (int i = 0; list && i < *n; i++)
		list[i] = (int)strtol(*at, at, 10);
	return list;
}

/* EVENT NODE POSITION BASE N WAIT... N GO... TELL SOURCE */
static bool take_step(char *at)
{
	struct file_step *step;

	if (!(order.n & (order.n - 1)))
		order.steps = needed(realloc(order.steps, (order.n ? 2 * order.n : 1) * sizeof(*order.steps)));
	step = &order.steps[order.n++];
	step->event = strtoull(at, &at, 10);
	step->node = (int)strtol(at, &at, 10);
	step->position = strtoll(at, &at, 10);
	at += strspn(at, " ");
	step->base = (enum file_base) * at++;
	step->wait = numbers(&at, &step->nwait);
	step->go = numbers(&at, &step->ngo);
	step->tell = (int)strtol(at, &at, 10);
	at += strspn(at, " ");
	step->source = strdup(at);
	return step->wait && step->go && step->source;
}

static bool take_line(char *line)
{
	char *tab;

	line[strcspn(line, "\n")] = 0;
	if (!strncmp(line, "step ", 5))
		return take_step(line + 5);
	if (strncmp(line, "file ", 5) || !(tab = strchr(line, '\t')))
		return false;
	*tab = 0;
	file_moved(tab + 1, line + 5);
	return true;
}

const char *file_steps_load(void)
{
	char path[FILE_PATH + 64], *line = NULL;
	size_t room = 0;
	bool good = true;
	FILE *file;

	snprintf(path, sizeof(path), "%s/../mpi-files-%d", host->branch, host->rank);
	file = fopen(path, "re");
	if (!file)
		return NULL; /* no file was opened */
	while (good && getline(&line, &room, file) >= 0)
		good = take_line(line);
	free(line);
	fclose(file);
	if (!good)
		return restart_refuse("", "the restart plan for its MPI files is damaged");
	if (PMPI_Comm_dup(MPI_COMM_WORLD, &order.comm) != MPI_SUCCESS)
		return restart_refuse("", "the ranks cannot agree on the order of writes to MPI files (MPI_Comm_dup "
					  "fails)");
	order.loaded = true;
	return NULL;
}

const struct file_step *file_step_now(void)
{
	const struct file_step *step = order.steps + order.next;

	return order.next < order.n && step->event == *host->event + 1 ? step : NULL;
}

static void tell(int rank, int node)
{
	PMPI_Send(NULL, 0, MPI_BYTE, rank, node & 0x3fff, order.comm);
}

static void hear(int rank, int node)
{
	PMPI_Recv(NULL, 0, MPI_BYTE, rank, node & 0x3fff, order.comm, MPI_STATUS_IGNORE);
}

void file_step_begin(const struct file_step *step)
{
	for (int i = 0; i < step->nwait; i++)
		hear(step->wait[i], step->node);
	for (int i = 0; i < step->ngo; i++)
		tell(step->go[i], step->node);
}

void file_step_end(const struct file_step *step)
{
	order.next++;
	if (step->tell >= 0)
		tell(step->tell, step->node + 1);
}

const char *file_steps_over(bool *any)
{
	*any = order.loaded;
	if (!order.loaded)
		return NULL;
	if (order.next < order.n)
		return restart_refuse("",
				      "its MPI files are not as they were at the cut: it did not make a call of the "
				      "restart plan");
	order.loaded = false;
	if (PMPI_Barrier(order.comm) != MPI_SUCCESS || PMPI_Comm_free(&order.comm) != MPI_SUCCESS)
		return restart_refuse("", "it cannot wait for the other ranks (MPI_Barrier or MPI_Comm_free fails)");
	return NULL;
}
