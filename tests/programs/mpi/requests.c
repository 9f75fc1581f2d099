/* Requests of every kind: persistent, matched, cancelled, buffered, generalized. */
#include "check.h"

#define N 6
static int right, left;

static void persistent(void)
{
	int out[N], in[N], done, index[N];
	MPI_Request requests[2 * N];
	MPI_Status statuses[2 * N];
	char room[N * (sizeof(int) + MPI_BSEND_OVERHEAD)], *back;

	MPI_Buffer_attach(room, sizeof(room));
	for (int i = 0; i < N; i++) {
		MPI_Recv_init(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
		switch (i % 3) {
		case 0: MPI_Send_init(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[N + i]); break;
		case 1: MPI_Ssend_init(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[N + i]); break;
		case 2: MPI_Bsend_init(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[N + i]); break;
		}
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++) {
			out[i] = 100 * rank + 10 * round + i;
			in[i] = -1;
		}
		MPI_Start(&requests[0]);
		MPI_Startall(2 * N - 1, requests + 1);
		for (int left_over = 2 * N; left_over;) {
			if (round == 1)
				MPI_Waitsome(2 * N, requests, &done, (int[2 * N]){0}, statuses);
			else if (round == 2)
				MPI_Testsome(2 * N, requests, &done, (int[2 * N]){0}, MPI_STATUSES_IGNORE);
			else
				MPI_Waitany(2 * N, requests, index, statuses), done = 1;
			left_over -= done;
		}
		for (int i = 0; i < N; i++)
			CHECK(in[i] == 100 * left + 10 * round + i);
	}
	for (int i = 0; i < 2 * N; i++)
		MPI_Request_free(&requests[i]);
	MPI_Buffer_detach(&back, &done);
	CHECK(back == room && done == (int)sizeof(room));
}

static void matched(void)
{
	double value = 1.5 * rank, got[2] = {0, 0};
	MPI_Message message;
	MPI_Request request[2];
	MPI_Status status;
	int flag = 0, n;

	MPI_Isend(&value, 1, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &request[0]);
	MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, &status);
	MPI_Get_count(&status, MPI_DOUBLE, &n);
	CHECK(status.MPI_SOURCE == left && n == 1);
	MPI_Mrecv(got, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
	CHECK(message == MPI_MESSAGE_NULL && got[0] == 1.5 * left);
	MPI_Isend(&value, 1, MPI_DOUBLE, right, 8, MPI_COMM_WORLD, &request[1]);
	while (!flag)
		MPI_Improbe(left, 8, MPI_COMM_WORLD, &flag, &message, &status);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
	MPI_Imrecv(got + 1, 1, MPI_DOUBLE, &message, &request[0]);
	MPI_Wait(&request[0], &status);
	CHECK(status.MPI_TAG == 8 && got[1] == 1.5 * left);
	MPI_Improbe(MPI_PROC_NULL, 8, MPI_COMM_WORLD, &flag, &message, &status);
	CHECK(flag && message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
	MPI_Mrecv(got, 1, MPI_DOUBLE, &message, &status);
	CHECK(message == MPI_MESSAGE_NULL);
}

static void others(void)
{
	int value = rank, flag, in = -4;
	MPI_Request request;
	MPI_Status status;

	MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, &status);
	CHECK(value == left && status.MPI_SOURCE == left);
	MPI_Irecv(&in, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag && in == -4);
	MPI_Status_set_elements(&status, MPI_DOUBLE, 5);
	MPI_Get_elements(&status, MPI_DOUBLE, &flag);
	CHECK(flag == 5);
	MPI_Status_set_cancelled(&status, 0);
	MPI_Test_cancelled(&status, &flag);
	CHECK(!flag);
}

static struct state {
	int queried, freed, cancelled, complete;
} state;

static int query(void *extra, MPI_Status *status)
{
	((struct state *)extra)->queried++;
	MPI_Status_set_elements(status, MPI_INT, 3);
	MPI_Status_set_cancelled(status, state.cancelled);
	status->MPI_SOURCE = 5;
	status->MPI_TAG = 6;
	return MPI_SUCCESS;
}

static int freed(void *extra)
{
	((struct state *)extra)->freed++;
	return MPI_SUCCESS;
}

static int cancelled(void *extra, int complete)
{
	((struct state *)extra)->cancelled++;
	((struct state *)extra)->complete = complete;
	return MPI_SUCCESS;
}

static void generalized(void)
{
	MPI_Request request, copy;
	MPI_Status status;
	int flag, n;

	MPI_Grequest_start(query, freed, cancelled, &state, &request);
	MPI_Test(&request, &flag, &status);
	CHECK(!flag && !state.queried);
	MPI_Grequest_complete(request);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_INT, &n);
	CHECK(request == MPI_REQUEST_NULL && n == 3 && status.MPI_SOURCE == 5 && status.MPI_TAG == 6);
	CHECK(state.queried == 1 && state.freed == 1);

	MPI_Grequest_start(query, freed, cancelled, &state, &request);
	copy = request;
	MPI_Cancel(&request);
	CHECK(state.cancelled == 1 && !state.complete);
	MPI_Grequest_complete(copy);
	MPI_Waitall(1, &request, &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag && state.freed == 2);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	right = (rank + 1) % size;
	left = (rank + size - 1) % size;
	persistent();
	matched();
	others();
	generalized();
	return end();
}
