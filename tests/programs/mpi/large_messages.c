/* Messages of 100 KB and more by all kinds of calls: what --record=lean leaves out of the log.  Each rank prints a sum
 * of all that it received.  What is sent depends on what was received before.
 *   threads    two threads of each rank exchange such messages
 *   crossed    in ranks 0 and 1 a thread sends in a call that ends after the other thread has received
 *   unsent     rank 0 kills rank 1 in the middle of the call with which that sent its last message
 *   truncated  there is less room than a message needs; Open MPI 4.1 writes all of it
 *   spawn      two processes that join the job do so, too
 *   waited     each request is waited for
 *   data N     other data, by N */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { N = 20000, ROUNDS = 3 };

static const char *how = "";
static int rank, size, next, before;
static double in[2 * N], out[2 * N];
static unsigned long sum;

static void look(const double *data, int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + (unsigned long)data[i];
}

/* What is sent next. */
static void fill(void)
{
	for (int i = 0; i < 2 * N; i++)
		out[i] = (double)(sum % 1000003 + rank + i);
}

static void came(void)
{
	look(in, 2 * N);
	memset(in, 0, sizeof(in));
	fill();
}

static void blocking(void)
{
	if (rank % 2 == 0) {
		MPI_Send(out, N, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
		MPI_Recv(in, N, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(in, N, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Ssend(out, N, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
	}
	came();
	MPI_Sendrecv(out, N, MPI_DOUBLE, next, 2, in, N, MPI_DOUBLE, before, MPI_ANY_TAG, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	came();
	memcpy(in, out, sizeof(in));
	MPI_Sendrecv_replace(in, N, MPI_DOUBLE, next, 3, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	came();
}

static void nonblocking(void)
{
	MPI_Request requests[4];
	int index, flag = 0;

	MPI_Irecv(in, N, MPI_DOUBLE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(in + N, N, MPI_DOUBLE, before, 5, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(out + N, N, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(out, N, MPI_DOUBLE, next, 4, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	came();
	/* it has come before it is waited for */
	MPI_Irecv(in, N, MPI_DOUBLE, before, 6, MPI_COMM_WORLD, &requests[0]);
	MPI_Send(out, N, MPI_DOUBLE, next, 6, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	while (!flag)
		MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
	came();
	/* received in another order than posted; the first is never received */
	MPI_Irecv(in, N, MPI_DOUBLE, before, 99, MPI_COMM_WORLD, &requests[0]);
	MPI_Cancel(&requests[0]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	MPI_Irecv(in, N, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(in + N, N, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(out, N, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(out + N, N, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &requests[3]);
	MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	MPI_Waitall(2, requests + 2, MPI_STATUSES_IGNORE);
	came();
	if (!strcmp(how, "waited"))
		return;
	/* nobody waits for it */
	MPI_Irecv(in, N, MPI_DOUBLE, before, 8, MPI_COMM_WORLD, &requests[0]);
	MPI_Request_free(&requests[0]);
	MPI_Send(out, N, MPI_DOUBLE, next, 8, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void persistent(void)
{
	MPI_Request requests[4];

	MPI_Recv_init(in, N, MPI_DOUBLE, before, 9, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(in + N, N, MPI_DOUBLE, before, 10, MPI_COMM_WORLD, &requests[1]);
	MPI_Send_init(out, N, MPI_DOUBLE, next, 10, MPI_COMM_WORLD, &requests[2]);
	MPI_Send_init(out + N, N, MPI_DOUBLE, next, 9, MPI_COMM_WORLD, &requests[3]);
	for (int i = 0; i < 2; i++) {
		MPI_Startall(4, requests);
		MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
		came();
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&requests[i]);
}

/* Rank 0 takes what comes, in the order in which it comes. */
static void whoever(void)
{
	MPI_Message message;
	MPI_Request request;
	MPI_Status status;

	if (rank) {
		for (int tag = 20; tag < 24; tag++)
			MPI_Send(out, N, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
		return;
	}
	for (int i = 0; i < size - 1; i++) {
		MPI_Recv(in, N, MPI_DOUBLE, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		came();
		MPI_Probe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &status);
		MPI_Recv(in, N, MPI_DOUBLE, status.MPI_SOURCE, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		came();
		MPI_Mprobe(MPI_ANY_SOURCE, 22, MPI_COMM_WORLD, &message, &status);
		MPI_Mrecv(in, N, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
		came();
		MPI_Mprobe(MPI_ANY_SOURCE, 23, MPI_COMM_WORLD, &message, &status);
		MPI_Imrecv(in, N, MPI_DOUBLE, &message, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		came();
	}
}

static void exchange(MPI_Datatype sent, int n, MPI_Datatype received, int m, int tag)
{
	MPI_Sendrecv(out, n, sent, next, tag, in, m, received, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	came();
}

static void datatypes(void)
{
	MPI_Datatype every_other, run, turned, two[2] = {MPI_DOUBLE, MPI_DOUBLE};
	int one[2] = {1, 1};
	MPI_Aint places[2] = {sizeof(double), 0};
	MPI_Request request;

	MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &every_other);
	MPI_Type_contiguous(N, MPI_DOUBLE, &run);
	MPI_Type_create_struct(2, one, places, two, &turned); /* without gaps, in another order */
	MPI_Type_commit(&every_other);
	MPI_Type_commit(&run);
	MPI_Type_commit(&turned);
	exchange(every_other, 1, MPI_DOUBLE, N, 30);
	exchange(MPI_DOUBLE, N, every_other, 1, 31);
	exchange(run, 1, MPI_DOUBLE, N, 32);
	exchange(turned, N / 2, MPI_DOUBLE, N, 33);
	exchange(MPI_DOUBLE, N, turned, N / 2, 34);
	exchange(turned, N / 2, turned, N / 2, 35);
	MPI_Irecv(in, N, MPI_DOUBLE, before, 36, MPI_COMM_WORLD, &request);
	MPI_Send(out, 1, every_other, next, 36, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	came();
	MPI_Type_free(&every_other);
	MPI_Type_free(&run);
	MPI_Type_free(&turned);
}

static void communicators(void)
{
	static char room[2 * N * sizeof(double)];
	MPI_Comm half, inter, turned;
	int of_mine;

	MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 40, &inter);
	MPI_Comm_rank(half, &of_mine);
	if (of_mine == 0) {
		MPI_Sendrecv(out, N, MPI_DOUBLE, 0, 41, in, N, MPI_DOUBLE, 0, 41, inter, MPI_STATUS_IGNORE);
		came();
	}
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
	MPI_Sendrecv(out, N, MPI_DOUBLE, (size - 1 - rank + 1) % size, 42, in, N, MPI_DOUBLE,
		     (size - 1 - rank + size - 1) % size, 42, turned, MPI_STATUS_IGNORE);
	came();
	MPI_Sendrecv(out, N, MPI_DOUBLE, 0, 43, in, N, MPI_DOUBLE, 0, 43, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	came();
	MPI_Sendrecv(out, N, MPI_DOUBLE, rank, 44, in, N, MPI_DOUBLE, rank, 44, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	came();
	MPI_Buffer_attach(room, sizeof(room));
	MPI_Bsend(out, N, MPI_DOUBLE, next, 46, MPI_COMM_WORLD);
	memset(out, 0, sizeof(out));
	MPI_Recv(in, N, MPI_DOUBLE, before, 46, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Buffer_detach(&(void *){NULL}, &(int){0});
	came();
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	MPI_Comm_free(&turned);
}

/* Longer than the buffer. */
static void truncated(void)
{
	int rc;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	rc = MPI_Sendrecv(out, N + 100, MPI_DOUBLE, next, 45, in, N, MPI_DOUBLE, before, 45, MPI_COMM_WORLD,
			  MPI_STATUS_IGNORE);
	sum += rc != MPI_SUCCESS;
	came();
}

static void collectives(void)
{
	MPI_Allreduce(out, in, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	came();
	MPI_Bcast(out, N, MPI_DOUBLE, 1, MPI_COMM_WORLD);
	look(out, N);
	MPI_Alltoall(out, N / size, MPI_DOUBLE, in, N / size, MPI_DOUBLE, MPI_COMM_WORLD);
	came();
}

static void *by_thread(void *arg)
{
	int tag = *(int *)arg, third = 2 * N / 3;
	double *mine = malloc(N * sizeof(*mine)), *theirs = malloc(N * sizeof(*theirs));

	memcpy(mine, out + tag, N * sizeof(*mine));
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Sendrecv(mine, N, MPI_DOUBLE, next, tag, theirs, N, MPI_DOUBLE, before, tag, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		for (int k = 0; k < N; k++)
			mine[k] += theirs[(k + third) % N];
	}
	free(theirs);
	return mine;
}

static void threads(void)
{
	pthread_t one;
	void *first, *second;

	pthread_create(&one, NULL, by_thread, &(int){1});
	second = by_thread(&(int){2});
	pthread_join(one, &first);
	look(first, N);
	look(second, N);
	free(first);
	free(second);
}

static void *call_that_ends_late(void *arg)
{
	char end;

	(void)arg;
	MPI_Sendrecv(out, N, MPI_DOUBLE, !rank, 70, &end, 1, MPI_CHAR, !rank, 71 + rank, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	return NULL;
}

static void crossed(void)
{
	pthread_t late;
	char word = 0;

	if (rank > 1)
		return;
	pthread_create(&late, NULL, call_that_ends_late, NULL);
	MPI_Recv(in, N, MPI_DOUBLE, !rank, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 0) {
		MPI_Send(&word, 1, MPI_CHAR, 1, 73, MPI_COMM_WORLD);
		pthread_join(late, NULL);
		MPI_Send(&word, 1, MPI_CHAR, 1, 72, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&word, 1, MPI_CHAR, 0, 73, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&word, 1, MPI_CHAR, 0, 71, MPI_COMM_WORLD);
		pthread_join(late, NULL);
	}
	came();
}

/* Processes that join, and those that were there, send messages among themselves and to each other. */
static void with_others(MPI_Comm others)
{
	MPI_Sendrecv(out, N, MPI_DOUBLE, next, 60, in, N, MPI_DOUBLE, before, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	came();
	if (rank < 2)
		MPI_Sendrecv(out, N, MPI_DOUBLE, rank, 61, in, N, MPI_DOUBLE, rank, 61, others, MPI_STATUS_IGNORE);
	came();
	MPI_Comm_disconnect(&others);
}

static void spawn(const char *program)
{
	MPI_Comm children;

	MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
	with_others(children);
}

/* Rank 1 never returns from the call with which it sends. */
static void unsent(void)
{
	pid_t pid = getpid();

	if (rank == 1) {
		MPI_Send(&pid, sizeof(pid), MPI_BYTE, 0, 50, MPI_COMM_WORLD);
		MPI_Sendrecv(out, N, MPI_DOUBLE, 0, 51, in, N, MPI_DOUBLE, 0, 52, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == 0) {
		MPI_Recv(&pid, sizeof(pid), MPI_BYTE, 1, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(in, N, MPI_DOUBLE, 1, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		came();
		kill(pid, SIGKILL);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Comm parents;
	int level, threaded;

	if (argc > 1)
		how = argv[1];
	threaded = !strcmp(how, "threads") || !strcmp(how, "crossed");
	MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	sum = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	fill();
	MPI_Comm_get_parent(&parents);
	if (parents != MPI_COMM_NULL) {
		with_others(parents);
	} else if (!strcmp(how, "threads")) {
		threads();
	} else if (!strcmp(how, "crossed")) {
		crossed();
	} else if (!strcmp(how, "spawn")) {
		spawn(argv[0]);
	} else {
		for (int i = 0; i < ROUNDS; i++) {
			blocking();
			nonblocking();
			persistent();
			whoever();
			datatypes();
		}
		communicators();
		collectives();
	}
	if (!strcmp(how, "truncated"))
		truncated();
	if (!strcmp(how, "unsent"))
		unsent();
	printf("rank %d: %lu\n", rank, sum);
	MPI_Finalize();
	return 0;
}
