/* For restarts: persistent requests, started and not; nonblocking collectives, among them one by an operation of the
 * program and one whose communicator is a copy that is made meanwhile; messages that are matched long before they are
 * received; receives that are cancelled; requests of its own.  Every rank prints a sum of all. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 6, LENGTH = 24 };

static long sum;

static void add(const long *from, int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + from[i];
}

static void mixed(void *in, void *inout, int *n, MPI_Datatype *type)
{
	long *a = in, *b = inout;
	(void)type;
	for (int i = 0; i < *n; i++)
		b[i] += a[i] + 5;
}

static int query(void *state, MPI_Status *status)
{
	MPI_Status_set_elements(status, MPI_LONG, (int)*(long *)state);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = status->MPI_TAG = 1;
	return MPI_SUCCESS;
}

static int released(void *state)
{
	*(long *)state += 3;
	return MPI_SUCCESS;
}

static int cancelled(void *state, int complete)
{
	(void)state;
	(void)complete;
	return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	int rank, size, left, right, flag;
	long out[2][LENGTH], in[2][LENGTH], mine[8], all[8], more[4 * 8], bytes[LENGTH];
	MPI_Request lasting[4], collective[3], copying, matched, never, own[2];
	long states[2];
	MPI_Message message;
	MPI_Status status;
	MPI_Comm copy, world;
	MPI_Datatype type;
	MPI_Op op;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &world);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	sum = rank;
	MPI_Op_create(mixed, 1, &op);
	for (int k = 0; k < 2; k++) {
		MPI_Send_init(out[k], LENGTH, MPI_LONG, right, k, world, &lasting[2 * k]);
		MPI_Recv_init(in[k], LENGTH, MPI_LONG, left, k, world, &lasting[2 * k + 1]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < 2; k++)
			for (int i = 0; i < LENGTH; i++)
				out[k][i] = sum + round * 7 + k * 3 + i;
		MPI_Startall(4, lasting);
		for (int k = 0; k < 2; k++) {
			states[k] = round + k;
			MPI_Grequest_start(query, released, cancelled, &states[k], &own[k]);
		}
		MPI_Grequest_complete(own[1]);
		/* a message that is matched now and received at the end of the round */
		for (int i = 0; i < LENGTH; i++)
			bytes[i] = sum * 5 + i;
		MPI_Send(bytes, LENGTH, MPI_LONG, right, 40, world);
		MPI_Mprobe(left, 40, world, &message, &status);
		for (int i = 0; i < 8; i++)
			mine[i] = sum % 1000 + i;
		MPI_Iallreduce(mine, all, 8, MPI_LONG, op, world, &collective[0]);
		MPI_Type_contiguous(4, MPI_LONG, &type);
		MPI_Type_commit(&type);
		MPI_Iallgather(mine, 2, type, more, 2, type, world, &collective[1]);
		MPI_Type_free(&type); /* it lives as long as it is needed */
		MPI_Ibarrier(world, &collective[2]);
		MPI_Comm_idup(world, &copy, &copying);
		MPI_Irecv(bytes, 1, MPI_LONG, left, 77, world, &never);
		MPI_Wait(&lasting[3], &status);
		add(in[1], LENGTH);
		MPI_Cancel(&never);
		do
			MPI_Test(&lasting[1], &flag, &status);
		while (!flag);
		add(in[0], LENGTH);
		MPI_Wait(&never, &status);
		MPI_Test_cancelled(&status, &flag);
		sum += flag;
		MPI_Waitall(4, lasting, MPI_STATUSES_IGNORE);
		MPI_Imrecv(bytes, LENGTH, MPI_LONG, &message, &matched);
		MPI_Wait(&copying, MPI_STATUS_IGNORE);
		MPI_Waitall(3, collective, MPI_STATUSES_IGNORE);
		add(all, 8);
		add(more, 8 * (size < 4 ? size : 4));
		MPI_Wait(&matched, MPI_STATUS_IGNORE);
		add(bytes, LENGTH);
		MPI_Grequest_complete(own[0]);
		for (int k = 0; k < 2; k++) {
			MPI_Wait(&own[k], &status);
			MPI_Get_count(&status, MPI_LONG, &flag);
			sum = sum * 31 + flag + states[k];
		}
		MPI_Bcast(all, 1, MPI_LONG, round % size, copy);
		add(all, 1);
		MPI_Comm_free(&copy);
	}
	for (int k = 0; k < 4; k++)
		MPI_Request_free(&lasting[k]);
	MPI_Op_free(&op);
	MPI_Comm_free(&world);
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
