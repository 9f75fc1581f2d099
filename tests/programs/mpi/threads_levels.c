/* What MPI says about threads; and communicators, attributes and operations made by several at once. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20 };

static int rank, deleted[2];

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
	deleted[*(int *)extra] += *(int *)value;
	return MPI_SUCCESS;
}

static void *work(void *arg)
{
	static int which[2] = {0, 1}, values[2] = {3, 5};
	MPI_Comm parent = ((MPI_Comm *)arg)[0];
	int me = *(int *)((MPI_Comm *)arg + 1), keyval, main_thread, flag, total = 0;
	int *value;

	MPI_Is_thread_main(&main_thread);
	MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, &keyval, &which[me]);
	for (int round = 0; round < ROUNDS; round++) {
		MPI_Comm comm, copy;
		int one = 1, sum;

		MPI_Comm_dup(parent, &comm);
		MPI_Comm_set_attr(comm, keyval, &values[me]);
		MPI_Comm_dup(comm, &copy);
		MPI_Comm_get_attr(copy, keyval, &value, &flag);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
		total += flag ? sum * *value : -1000;
		MPI_Comm_free(&copy);
		MPI_Comm_free(&comm);
	}
	MPI_Comm_free_keyval(&keyval);
	printf("rank %d thread %d main %d total %d deleted %d\n", rank, me, main_thread, total, deleted[me]);
	return NULL;
}

int main(int argc, char **argv)
{
	struct {
		MPI_Comm comm;
		int me;
	} part[2] = {{.me = 0}, {.me = 1}};
	pthread_t thread;
	int required = argc > 1 ? atoi(argv[1]) : MPI_THREAD_MULTIPLE, level, queried, main_thread;

	MPI_Init_thread(&argc, &argv, required, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Query_thread(&queried);
	MPI_Is_thread_main(&main_thread);
	printf("rank %d level %d %d main %d\n", rank, level, queried, main_thread);
	if (level == MPI_THREAD_MULTIPLE) {
		MPI_Comm_dup(MPI_COMM_WORLD, &part[0].comm);
		MPI_Comm_dup(MPI_COMM_WORLD, &part[1].comm);
		pthread_create(&thread, NULL, work, &part[1]);
		work(&part[0]);
		pthread_join(thread, NULL);
		MPI_Comm_free(&part[0].comm);
		MPI_Comm_free(&part[1].comm);
	}
	MPI_Finalize();
	return 0;
}
