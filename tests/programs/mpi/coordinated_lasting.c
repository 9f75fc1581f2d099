/* Persistent requests at a checkpoint: not started, complete and not waited for, and complete in a call that waits for
 * another one.  Rank 1 sends the rest when a test has made a file.  Rank 0 prints the tag of each message and its
 * number of elements, which differ.  argv: gate. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { ROOM = 16, TAGS = 4 };
enum { NOT_STARTED, COMPLETE, IN_THE_CALL, AWAITED };

static int in[TAGS][ROOM], out[ROOM];

static void say(const MPI_Status *status)
{
	int count;

	MPI_Get_count(status, MPI_INT, &count);
	printf(" %d:%d:%d", status->MPI_SOURCE, status->MPI_TAG, count);
}

static void send(int tag, int count)
{
	MPI_Send(out, count, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

static void receive(void)
{
	MPI_Request lasting[TAGS], sends;
	MPI_Status status[2];

	for (int tag = 0; tag < TAGS; tag++)
		MPI_Recv_init(in[tag], ROOM, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &lasting[tag]);
	MPI_Send_init(out, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &sends);
	MPI_Startall(TAGS - 1, lasting + 1);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Waitall(2, lasting + IN_THE_CALL, status);
	printf("rank 0 sum");
	say(&status[0]);
	say(&status[1]);
	MPI_Wait(&lasting[COMPLETE], &status[0]);
	say(&status[0]);
	for (int tag = 0; tag < TAGS; tag++) {
		MPI_Start(&lasting[tag]);
		MPI_Wait(&lasting[tag], &status[0]);
		say(&status[0]);
		MPI_Start(&sends);
		MPI_Wait(&sends, MPI_STATUS_IGNORE);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	int rank, got;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		receive();
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		send(COMPLETE, 5);
		send(IN_THE_CALL, 6);
		puts("there");
		fflush(stdout);
		while (access(argv[1], F_OK))
			usleep(1000);
		send(AWAITED, 7);
		for (int tag = 0; tag < TAGS; tag++) {
			send(tag, 10 + tag);
			MPI_Recv(&got, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
	MPI_Finalize();
	return 0;
}
