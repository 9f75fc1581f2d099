/* Rank 1 posts a receive that it does not wait for, or late, and looks at what it brought: argv[1] says how.  MPI forbids that
 * (MPI-4.0, 3.7.2), and the data are there. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank;
static volatile int got[2 * 4];

static void show(const char *when)
{
	printf("%s %d %d\n", when, got[0], got[6]);
	fflush(stdout);
}

/* Receives from nobody, which are complete. */
static void nobody(void)
{
	MPI_Request requests[2];

	MPI_Irecv((void *)got, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init((void *)got, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[1]);
	MPI_Start(&requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Request_free(&requests[1]);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "barrier";
	int sent[4] = {7, 8, 9, 10}, flag;
	MPI_Datatype gaps;
	MPI_Request request;

	const int other = !strcmp(how, "collective") || !strcmp(how, "reduction") || !strcmp(how, "parts");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	nobody();
	MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
	MPI_Type_commit(&gaps);
	if (rank == 1 && !other) {
		if (!strcmp(how, "persistent") || !strcmp(how, "index")) {
			MPI_Recv_init((void *)got, 1, gaps, 0, 3, MPI_COMM_WORLD, &request);
			MPI_Start(&request);
		} else {
			MPI_Irecv((void *)got, 1, gaps, 0, 3, MPI_COMM_WORLD, &request);
		}
		if (!strcmp(how, "free"))
			MPI_Request_free(&request);
	}
	if (!strcmp(how, "collective"))
		MPI_Ibcast(rank ? (void *)got : sent, rank ? 1 : 4, rank ? gaps : MPI_INT, 0, MPI_COMM_WORLD, &request);
	if (!strcmp(how, "reduction"))
		MPI_Iallreduce(sent, (void *)got, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
#if MPI_VERSION >= 4
	if (!strcmp(how, "parts") && rank == 0)
		MPI_Psend_init(sent, 2, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	else if (!strcmp(how, "parts"))
		MPI_Precv_init((void *)got, 2, 2, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	if (!strcmp(how, "parts"))
		MPI_Start(&request);
	if (!strcmp(how, "parts") && rank == 0) {
		MPI_Pready_range(0, 1, request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
#endif
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0 && strcmp(how, "never") && !other)
		MPI_Send(sent, 4, MPI_INT, 1, 3, MPI_COMM_WORLD);
	if (!strcmp(how, "poll") || (other && argc < 3)) {
		while (rank == 1 && !got[0])
			MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		if (rank == 1)
			show("polled");
	} else if (!strcmp(how, "late")) {
		MPI_Barrier(MPI_COMM_WORLD);
		got[6] = 1;
		if (rank == 1)
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (rank == 1)
			show("late");
	} else if (!strcmp(how, "index")) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 1) {
			MPI_Status status = {.MPI_SOURCE = -77, .MPI_TAG = -77};
			int index = -77;

			MPI_Waitany(1, &request, &index, &status);
			printf("%d: from %d, tag %d\n", index, status.MPI_SOURCE, status.MPI_TAG);
			MPI_Request_free(&request);
		}
	} else if (strcmp(how, "finalize")) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 1)
			show(how);
	}
	MPI_Finalize();
	if (rank == 1)
		show("end");
	return 0;
}
