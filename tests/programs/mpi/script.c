/* Plays the operations of its rank from a file, one a line (tests/kit/mpi_player.py makes them): argv[1].  */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 64, BIG = 100000 };

static int rank, size;
static char in[NAMES + 1][BIG], out[BIG];
static MPI_Request requests[NAMES];
static MPI_Message message = MPI_MESSAGE_NULL;

static MPI_Comm comms[4];

static MPI_Comm comm_of(int number)
{
	return comms[number == 2 ? 0 : number == 262 ? 3 : number - 255];
}

static int tag_of(int tag)
{
	return tag < 0 ? MPI_ANY_TAG : tag;
}

static int source_of(int source)
{
	return source < 0 ? MPI_ANY_SOURCE : source;
}

static void send(const char *text)
{
	int dest, tag, comm, big, name, bytes;
	char mode;

	sscanf(text, " %c %d %d %d %d %d", &mode, &dest, &tag, &comm, &big, &name);
	bytes = big ? BIG : 8;
	if (name < 0 && mode == 'n')
		MPI_Send(out, bytes, MPI_CHAR, dest, tag, comm_of(comm));
	else if (name < 0 && mode == 's')
		MPI_Ssend(out, bytes, MPI_CHAR, dest, tag, comm_of(comm));
	else if (name < 0)
		MPI_Bsend(out, bytes, MPI_CHAR, dest, tag, comm_of(comm));
	else if (mode == 'n')
		MPI_Isend(out, bytes, MPI_CHAR, dest, tag, comm_of(comm), &requests[name]);
	else if (mode == 's')
		MPI_Issend(out, bytes, MPI_CHAR, dest, tag, comm_of(comm), &requests[name]);
	else
		MPI_Ibsend(out, bytes, MPI_CHAR, dest, tag, comm_of(comm), &requests[name]);
}

static void prepare(const char *text)
{
	int dest, tag, comm, big, name;
	char mode;

	sscanf(text, " %c %d %d %d %d %d", &mode, &dest, &tag, &comm, &big, &name);
	if (mode == 'n')
		MPI_Send_init(out, big ? BIG : 8, MPI_CHAR, dest, tag, comm_of(comm), &requests[name]);
	else if (mode == 's')
		MPI_Ssend_init(out, big ? BIG : 8, MPI_CHAR, dest, tag, comm_of(comm), &requests[name]);
	else
		MPI_Bsend_init(out, big ? BIG : 8, MPI_CHAR, dest, tag, comm_of(comm), &requests[name]);
}

static void wait_for(const char *text, int any)
{
	MPI_Request some[NAMES];
	int names[NAMES], count = 0, at = 0, used, index;

	while (sscanf(text + at, "%d%n", &names[count], &used) == 1) {
		some[count] = requests[names[count]];
		at += used;
		count++;
	}
	if (any)
		MPI_Waitany(count, some, &index, MPI_STATUS_IGNORE);
	else if (count == 1)
		MPI_Wait(some, MPI_STATUS_IGNORE);
	else
		MPI_Waitall(count, some, MPI_STATUSES_IGNORE);
	for (int i = 0; i < count; i++)
		requests[names[i]] = some[i];
}

static void play(const char *what, const char *text)
{
	int a = 0, b = 0, c = 0, d = 0, e = 0, flag = 0;
	MPI_Comm merged;

	if (sscanf(text, "%d %d %d %d %d", &a, &b, &c, &d, &e) < 0)
		a = 0;
	if (!strcmp(what, "send"))
		send(text);
	else if (!strcmp(what, "recv") && d < 0)
		MPI_Recv(in[NAMES], BIG, MPI_CHAR, source_of(a), tag_of(b), comm_of(c), MPI_STATUS_IGNORE);
	else if (!strcmp(what, "recv"))
		MPI_Irecv(in[d], BIG, MPI_CHAR, source_of(a), tag_of(b), comm_of(c), &requests[d]);
	else if (!strcmp(what, "sendrecv"))
		MPI_Sendrecv(out, 8, MPI_CHAR, a, b, in[NAMES], BIG, MPI_CHAR, source_of(c), tag_of(d), comm_of(e),
			     MPI_STATUS_IGNORE);
	else if (!strcmp(what, "wait") || !strcmp(what, "waitany"))
		wait_for(text, what[4] != 0);
	else if (!strcmp(what, "sinit"))
		prepare(text);
	else if (!strcmp(what, "barrier") && a == 304)
		MPI_Intercomm_merge(comms[3], rank % 2, &merged);
	else if (!strcmp(what, "barrier"))
		MPI_Barrier(comm_of(a));
	else if (!strcmp(what, "ibarrier"))
		MPI_Ibarrier(comm_of(a), &requests[b]);
	else if (!strcmp(what, "probe"))
		MPI_Probe(source_of(a), tag_of(b), comm_of(c), MPI_STATUS_IGNORE);
	else if (!strcmp(what, "mprobe"))
		MPI_Mprobe(source_of(a), tag_of(b), comm_of(c), &message, MPI_STATUS_IGNORE);
	else if (!strcmp(what, "mrecv") && message != MPI_MESSAGE_NULL)
		MPI_Mrecv(in[NAMES], BIG, MPI_CHAR, &message, MPI_STATUS_IGNORE);
	else if (!strcmp(what, "rinit"))
		MPI_Recv_init(in[d], BIG, MPI_CHAR, source_of(a), tag_of(b), comm_of(c), &requests[d]);
	else if (!strcmp(what, "start"))
		MPI_Start(&requests[a]);
	else if (!strcmp(what, "cancel") && requests[a] != MPI_REQUEST_NULL)
		MPI_Cancel(&requests[a]);
	else if (!strcmp(what, "free") && requests[a] != MPI_REQUEST_NULL)
		MPI_Request_free(&requests[a]);
	else if (!strcmp(what, "poll"))
		while (!flag)
			MPI_Test(&requests[a], &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	char line[256], what[16];
	FILE *file;
	MPI_Comm half;
	int whose, used;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Buffer_attach(buffer, sizeof(buffer));
	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comms[2]);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !(rank % 2), 0, &comms[3]);
	for (int i = 0; i < NAMES; i++)
		requests[i] = MPI_REQUEST_NULL;
	file = fopen(argv[1], "r");
	if (!file)
		MPI_Abort(MPI_COMM_WORLD, 3);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%d %15s%n", &whose, what, &used) == 2 && whose == rank)
			play(what, line + used);
	MPI_Finalize();
	return 0;
}
