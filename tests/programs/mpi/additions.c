/* MPI-4's additions, the same over every MPI: persistent collectives, infos, parts of a status, no events. */
#include "check.h"

static void sum_up(void *in, void *inout, int *len, MPI_Datatype *type)
{
	for (int i = 0; i < *len; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

/* Two of them, started in another order by each rank; what they use is freed before. */
static void persistent(void)
{
	int in[2], sum[2] = {-1, -1}, root = -1, index, flag, all[8];
	MPI_Request requests[3];
	MPI_Status statuses[3];
	MPI_Datatype two;
	MPI_Comm comm;
	MPI_Op op;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Type_contiguous(1, MPI_INT, &two));
	OK(MPI_Type_commit(&two));
	OK(MPI_Op_create(sum_up, 1, &op));
	OK(MPI_Allreduce_init(in, sum, 2, MPI_INT, op, comm, MPI_INFO_NULL, &requests[0]));
	OK(MPI_Bcast_init(&root, 1, two, size - 1, comm, MPI_INFO_NULL, &requests[1]));
	OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]));
	OK(MPI_Op_free(&op));
	OK(MPI_Type_free(&two));
	CHECK(op == MPI_OP_NULL && two == MPI_DATATYPE_NULL);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Waitall(3, requests, statuses)); /* none is active */
	OK(MPI_Testany(3, requests, &index, &flag, statuses));
	CHECK(flag && index == MPI_UNDEFINED);
	for (int round = 0; round < 3; round++) {
		in[0] = rank + round;
		in[1] = 1;
		root = rank == size - 1 ? 50 + round : -1;
		OK(MPI_Start(&requests[rank % 2]));
		OK(MPI_Start(&requests[1 - rank % 2]));
		OK(MPI_Start(&requests[2]));
		if (round == 1) {
			for (int left = 3; left--;) {
				OK(MPI_Waitany(3, requests, &index, statuses));
				CHECK(index >= 0 && index < 3);
			}
			OK(MPI_Waitany(3, requests, &index, statuses));
			CHECK(index == MPI_UNDEFINED);
		} else {
			OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
		}
		CHECK(sum[0] == size * (size - 1) / 2 + size * round && sum[1] == size && root == 50 + round);
		CHECK(requests[0] != MPI_REQUEST_NULL);
	}
	for (int i = 0; i < 3; i++)
		OK(MPI_Request_free(&requests[i]));
	CHECK(requests[0] == MPI_REQUEST_NULL);

	OK(MPI_Allgather_init(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
	OK(MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]));
	OK(MPI_Recv_init(&root, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[2]));
	for (int round = 0; round < 2; round++) {
		memset(all, 0xff, sizeof(all));
		OK(MPI_Startall(3, requests));
		do
			OK(MPI_Testall(3, requests, &flag, statuses));
		while (!flag);
		CHECK(all[0] == 0 && all[size - 1] == size - 1 && root == (rank + size - 1) % size);
	}
	for (int i = 0; i < 3; i++)
		OK(MPI_Request_free(&requests[i]));
}

static void typed(void)
{
	int out[8], in[8], counts[8], displs[8];
	MPI_Datatype types[8];
	MPI_Request request;

	for (int i = 0; i < size; i++) {
		out[i] = 10 * rank + i;
		counts[i] = 1;
		displs[i] = 4 * i;
		types[i] = MPI_INT;
	}
	OK(MPI_Alltoallw_init(out, counts, displs, types, in, counts, displs, types, MPI_COMM_WORLD, MPI_INFO_NULL,
			      &request));
	memset(types, 0, sizeof(types));
	for (int round = 0; round < 2; round++) {
		memset(in, 0xff, sizeof(in));
		OK(MPI_Start(&request));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
		for (int i = 0; i < size; i++)
			CHECK(in[i] == 10 * i + rank);
	}
	OK(MPI_Request_free(&request));
}

static void others(void)
{
	char value[64] = "";
	int len = sizeof(value), flag, number;
	MPI_Request request;
	MPI_Info info;
	MPI_Comm comm;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "key", "some value"));
	OK(MPI_Info_get_string(info, "key", &len, value, &flag));
	CHECK(flag && len == 11 && !strcmp(value, "some value"));
	len = 5;
	OK(MPI_Info_get_string(info, "key", &len, value, &flag));
	CHECK(flag && len == 11 && !strcmp(value, "some"));
	OK(MPI_Info_get_string(info, "none", &len, value, &flag));
	CHECK(!flag);
	OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &flag));
	CHECK(flag == MPI_CONGRUENT);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Info_free(&info));
	OK(MPI_Info_create_env(0, NULL, &info));
	OK(MPI_Info_free(&info));
#ifndef OPEN_MPI /* 5.0 has no such functions */
	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &flag));
	OK(MPI_T_event_get_num(&number));
	CHECK(number == 0);
	CHECK(MPI_T_event_get_index("no such", &number) == MPI_T_ERR_INVALID_NAME);
	OK(MPI_T_finalize());
#endif
}

/* Not in every library that programs are linked with. */
#ifndef OPEN_MPI
int MPI_Remove_error_class(int) __attribute__((weak));
int MPI_Remove_error_code(int) __attribute__((weak));
int MPI_Remove_error_string(int) __attribute__((weak));

static void errors_removed(void)
{
	int class, code, length;
	char text[MPI_MAX_ERROR_STRING];

	CHECK(MPI_Remove_error_class && MPI_Remove_error_code && MPI_Remove_error_string);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	OK(MPI_Add_error_class(&class));
	OK(MPI_Add_error_code(class, &code));
	OK(MPI_Add_error_string(code, "of ours"));
	OK(MPI_Error_string(code, text, &length));
	CHECK(!strcmp(text, "of ours"));
	OK(MPI_Remove_error_string(code));
	OK(MPI_Error_string(code, text, &length));
	CHECK(strcmp(text, "of ours"));
	OK(MPI_Remove_error_code(code));
	OK(MPI_Remove_error_class(class));
	CHECK(MPI_Remove_error_class(MPI_ERR_TAG) != MPI_SUCCESS);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

#ifndef MPI_ABI_VERSION
int MPI_Status_c2f08(const MPI_Status *, MPI_F08_status *) __attribute__((weak));
int MPI_Status_f082c(const MPI_F08_status *, MPI_Status *) __attribute__((weak));
int MPI_Status_f2f08(const MPI_Fint *, MPI_F08_status *) __attribute__((weak));
int MPI_Status_f082f(const MPI_F08_status *, MPI_Fint *) __attribute__((weak));

/* Through each of Fortran's two kinds and back. */
static void statuses(void)
{
	int value = rank, count = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Fint numbers[16] = {0};
	MPI_F08_status f08, again;
	MPI_Status status, back;

	OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 40 + rank, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
	memset(&f08, 0xff, sizeof(f08));
	memset(&again, 0xff, sizeof(again));
	memset(&back, 0xff, sizeof(back));
	OK(MPI_Status_c2f08(&status, &f08));
	CHECK(f08.MPI_SOURCE == before && f08.MPI_TAG == 40 + before);
	OK(MPI_Status_f082f(&f08, numbers));
	OK(MPI_Status_f2f08(numbers, &again));
	OK(MPI_Status_f082c(&again, &back));
	OK(MPI_Get_count(&back, MPI_INT, &count));
	CHECK(back.MPI_SOURCE == before && back.MPI_TAG == 40 + before && count == 1);
}
#endif
#endif

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	persistent();
	typed();
	others();
#ifndef OPEN_MPI
	errors_removed();
#ifndef MPI_ABI_VERSION
	statuses();
#endif
#endif
	return end();
}
