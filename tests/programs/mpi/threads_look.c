/* Two threads hand a turn to each other; who waits for it asks MPI in each look.  argv: way, steps. */
#include <mpi.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int turn;
static MPI_Request request;
static double end;

static void probe(void)
{
	int found;
	MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
	if (found)
		abort();
}

static void test(void)
{
	int done;
	MPI_Test(&request, &done, MPI_STATUS_IGNORE);
	if (done)
		abort();
}

static void clock_(void)
{
	if (MPI_Wtime() > end)
		abort();
}

static void all(void)
{
	probe();
	test();
	clock_();
}

static const struct {
	const char *name;
	void (*ask)(void);
} ways[] = {{"probe", probe}, {"test", test}, {"clock", clock_}, {"all", all}};

int main(int argc, char **argv)
{
	int provided, data = 0, one = 1;
	unsigned long sum = 0;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Irecv(&data, 1, MPI_INT, 0, 99, MPI_COMM_SELF, &request);
	end = MPI_Wtime() + 1000;
	unsigned way = 0;
	while (strcmp(ways[way].name, argv[1]))
		way++;
#pragma omp parallel num_threads(2)
	for (int i = 0; i < atoi(argv[2]); i++) {
		while (atomic_load(&turn) != omp_get_thread_num())
			ways[way].ask();
		sum = sum * 3 + (unsigned)omp_get_thread_num();
		for (volatile int work = 0; work < 1000; work++)
			;
		atomic_store(&turn, !omp_get_thread_num());
	}
	MPI_Send(&one, 1, MPI_INT, 0, 99, MPI_COMM_SELF);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	printf("%lu %d\n", sum, data);
	MPI_Finalize();
	return 0;
}
