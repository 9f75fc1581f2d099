/* Messages on many channels, received in every way and completed out of order; each one says which of
 * its channel it is, counted by the sender. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAGS = 2, EACH = 12, MOST = 8 };

struct message {
	int from, to, comm, tag, number;
};

static int rank, size;
static MPI_Comm comms[2];
static unsigned long seed;

static unsigned chance(unsigned n)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(seed >> 33) % n;
}

static struct message sent[2][MOST][TAGS][EACH];
static MPI_Request sending[2 * MOST * TAGS * EACH];

/* Interleaved over all channels, in an order of this rank's own. */
static int send_all(void)
{
	int next[2][MOST][TAGS] = {0}, n = 0, all = 2 * size * TAGS * EACH;

	while (n < all) {
		int comm = (int)chance(2), to = (int)chance((unsigned)size), tag = (int)chance(TAGS);
		int number = next[comm][to][tag];
		if (number == EACH)
			continue;
		struct message *m = &sent[comm][to][tag][number];
		next[comm][to][tag]++;
		*m = (struct message){rank, to, comm, tag, number};
		/* in the second communicator ranks are the other way round */
		MPI_Isend(m, 5, MPI_INT, comm ? size - 1 - to : to, tag, comms[comm], &sending[n++]);
	}
	return n;
}

static int wrong;

static void check(const struct message *m, int comm)
{
	wrong += m->to != rank || m->comm != comm;
}

/* Whoever comes: blocking, matched probe, persistent. */
static void receive_any(MPI_Comm comm)
{
	struct message m;
	MPI_Request request;
	MPI_Message message;
	MPI_Status status;

	for (int i = 0; i < size * TAGS * EACH; i++) {
		switch (chance(4)) {
		case 0: MPI_Recv(&m, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status); break;
		case 1:
			MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
			MPI_Mrecv(&m, 5, MPI_INT, &message, &status);
			break;
		case 2:
			MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
			MPI_Imrecv(&m, 5, MPI_INT, &message, &request);
			MPI_Wait(&request, &status);
			break;
		default:
			MPI_Recv_init(&m, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
			MPI_Start(&request);
			MPI_Wait(&request, &status);
			MPI_Request_free(&request);
		}
		check(&m, 0);
	}
}

/* All of one channel posted, then waited for out of order. */
static void receive_posted(MPI_Comm comm)
{
	for (int from = 0; from < size; from++)
		for (int tag = 0; tag < TAGS; tag++) {
			struct message m[EACH];
			MPI_Request request[EACH];

			for (int i = 0; i < EACH; i++)
				MPI_Irecv(&m[i], 5, MPI_INT, from, tag, comm, &request[i]);
			for (int left = EACH; left; left--) {
				int one = (int)chance((unsigned)left), at = 0;
				while (request[at] == MPI_REQUEST_NULL || one--)
					at++;
				MPI_Wait(&request[at], MPI_STATUS_IGNORE);
				check(&m[at], 1);
			}
		}
}

int main(int argc, char **argv)
{
	int n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	seed = (unsigned long)rank + 1;
	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
	n = send_all();
	receive_any(comms[0]);
	receive_posted(comms[1]);
	MPI_Waitall(n, sending, MPI_STATUSES_IGNORE);
	printf("%d: wrong %d\n", rank, wrong);
	MPI_Finalize();
	return 0;
}
