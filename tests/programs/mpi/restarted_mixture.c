/* For restarts: of nearly all that MPI-3.1 has, something is there at any moment.  Attributes that copies inherit by callbacks,
 * error handlers, nested datatypes, inter-communicators, Cartesian and distributed graphs with collectives among
 * neighbours, communicators of groups and of hosts, infos and names, messages that are matched, buffered, synchronous and
 * ready, requests that last and of its own.  Every rank prints a sum of all that it sees; it needs four of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4, LENGTH = 12 };

static long sum;
static int rank, size, left, right, key, copied, deleted, errors;

static void add(const void *from, int n)
{
	const long *at = from;

	for (int i = 0; i < n; i++)
		sum = sum * 31 + at[i];
}

static void add_text(const char *text)
{
	while (*text)
		sum = sum * 31 + *text++;
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	*(long *)out = (long)in + (long)extra;
	*flag = 1;
	copied++;
	return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int keyval, void *value, void *extra)
{
	deleted += (int)(long)value;
	return MPI_SUCCESS;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
	int class;

	MPI_Error_class(*code, &class);
	errors += class == MPI_ERR_RANK ? 3 : 1000;
}

static void mixed(void *in, void *inout, int *n, MPI_Datatype *type)
{
	long *a = in, *b = inout;

	for (int i = 0; i < *n; i++)
		b[i] += a[i] + 1;
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
	return MPI_SUCCESS;
}

static int cancelled(void *state, int complete)
{
	return MPI_SUCCESS;
}

/* 24 longs hold one of it: blocks of a resized part of an array that is distributed. */
static MPI_Datatype nested(void)
{
	MPI_Datatype darray, part, resized, blocks;

	MPI_Type_create_darray(2, 0, 1, (int[]){6}, (int[]){MPI_DISTRIBUTE_CYCLIC}, (int[]){2}, (int[]){2}, MPI_ORDER_C,
			       MPI_LONG, &darray);
	MPI_Type_create_resized(darray, 0, 6 * sizeof(long), &resized);
	MPI_Type_create_subarray(1, (int[]){3}, (int[]){2}, (int[]){1}, MPI_ORDER_C, resized, &part);
	MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){sizeof(long)}, part, &blocks);
	MPI_Type_commit(&blocks);
	MPI_Type_set_name(blocks, "nested");
	MPI_Type_free(&darray);
	MPI_Type_free(&part);
	MPI_Type_free(&resized);
	return blocks;
}

static void names(MPI_Comm comm, MPI_Datatype type, MPI_Info info)
{
	char text[MPI_MAX_OBJECT_NAME], value[32];
	int len, flag;

	MPI_Comm_get_name(comm, text, &len);
	add_text(text);
	MPI_Type_get_name(type, text, &len);
	add_text(text);
	MPI_Info_get(info, "what", sizeof(value) - 1, value, &flag);
	add_text(flag ? value : "nothing");
}

int main(int argc, char **argv)
{
	static char attached[4096];
	int half_size, flag, count, parts[4], others[2], starts[1];
	long out[6][2 * LENGTH], in[6][4 * LENGTH], around[4], all[LENGTH], state, attribute, *there;
	MPI_Comm half, inter, ring, graph, pair, host, heir, world;
	MPI_Request lasting[4], pending[8], own, early[2];
	MPI_Group everybody, two;
	MPI_Errhandler handle;
	MPI_Message message;
	MPI_Status status;
	MPI_Datatype type;
	MPI_Info info;
	MPI_Op op;

	MPI_Init(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &world);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	sum = rank;
	memset(in, 0, sizeof(in));
	memset(out, 0, sizeof(out));
	MPI_Comm_create_keyval(copy, delete, &key, (void *)7);
	MPI_Comm_set_attr(world, key, (void *)(long)rank);
	MPI_Comm_create_errhandler(handler, &handle);
	MPI_Comm_set_errhandler(world, handle);
	MPI_Comm_set_name(world, "everybody");
	MPI_Info_create(&info);
	MPI_Info_set(info, "what", "a value");
	MPI_Op_create(mixed, 0, &op);
	type = nested();
	MPI_Comm_split(world, rank % 2, rank, &half);
	MPI_Comm_size(half, &half_size);
	MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 5, &inter);
	MPI_Cart_create(world, 1, &size, (int[]){1}, 0, &ring);
	MPI_Dist_graph_create_adjacent(world, 1, &left, MPI_UNWEIGHTED, 2, (int[]){right, right}, MPI_UNWEIGHTED,
				       MPI_INFO_NULL, 0, &graph);
	MPI_Comm_free(&graph);
	starts[0] = rank;
	MPI_Dist_graph_create(world, 1, starts, (int[]){1}, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
	MPI_Comm_group(world, &everybody);
	others[0] = rank / 2 * 2;
	others[1] = others[0] + 1;
	MPI_Group_incl(everybody, 2, others, &two);
	MPI_Comm_create_group(world, two, 9 + rank / 2, &pair);
	MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
	MPI_Buffer_attach(attached, sizeof(attached));
	MPI_Ssend_init(out[0], LENGTH, MPI_LONG, right, 1, ring, &lasting[0]);
	MPI_Rsend_init(out[1], LENGTH, MPI_LONG, left, 2, ring, &lasting[1]);
	MPI_Recv_init(in[0], LENGTH, MPI_LONG, left, 1, ring, &lasting[2]);
	MPI_Recv_init(in[1], LENGTH, MPI_LONG, right, 2, ring, &lasting[3]);
	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < 6; k++)
			for (int i = 0; i < LENGTH; i++)
				out[k][i] = sum + round * 7 + k * 3 + i;
		/* an heir of the attribute and the handler, and of the name of the round before */
		MPI_Comm_dup(world, &heir);
		MPI_Comm_set_name(heir, round % 2 ? "odd" : "even");
		MPI_Startall(2, lasting + 2);
		/* buffered, and received at the end */
		MPI_Bsend(out[2], LENGTH, MPI_LONG, right, 20, heir);
		MPI_Ibsend(out[2], LENGTH, MPI_LONG, left, 21, heir, &early[0]);
		/* matched, and received at the end */
		MPI_Issend(out[3], 1, type, right, 22, heir, &early[1]);
		MPI_Mprobe(left, 22, heir, &message, &status);
		MPI_Barrier(world); /* all receives are posted */
		MPI_Startall(2, lasting);
		for (int i = 0; i < LENGTH; i++)
			all[i] = sum % 1000 + i;
		MPI_Iallreduce(MPI_IN_PLACE, all, LENGTH, MPI_LONG, op, round % 2 ? heir : half, &pending[0]);
		MPI_Ineighbor_allgather(out[4], 2, MPI_LONG, in[4], 2, MPI_LONG, ring, &pending[1]);
		MPI_Ineighbor_alltoall(out[5], 3, MPI_LONG, in[5], 3, MPI_LONG, graph, &pending[2]);
		MPI_Isend(out[4], 1, type, rank / 2, 30, inter, &pending[3]);
		MPI_Irecv(in[2], 1, type, MPI_ANY_SOURCE, 30, inter, &pending[4]);
		state = round;
		MPI_Grequest_start(query, released, cancelled, &state, &own);
		MPI_Comm_get_attr(heir, key, &there, &flag);
		sum = sum * 31 + (flag ? (long)there : -1);
		if (round == 1)
			MPI_Comm_set_attr(world, key, (void *)(long)(rank + 5));
		MPI_Send(out[0], 1, MPI_LONG, size, 0, heir); /* the handler is called, no message leaves */
		sum = sum * 31 + errors;
		names(heir, type, info);
		attribute = sum % 1000;
		MPI_Allreduce(MPI_IN_PLACE, &attribute, 1, MPI_LONG, MPI_SUM, pair);
		add(&attribute, 1);
		MPI_Allreduce(MPI_IN_PLACE, &attribute, 1, MPI_LONG, MPI_MAX, host);
		add(&attribute, 1);
		/* of the other half's root to all of this one */
		around[0] = sum % 1000;
		MPI_Bcast(around, 1, MPI_LONG, rank % 2 == round % 2 ? 0 : rank < 2 ? MPI_ROOT : MPI_PROC_NULL, inter);
		add(around, 1);
		MPI_Wait(&lasting[3], MPI_STATUS_IGNORE);
		add(in[1], LENGTH);
		MPI_Sendrecv(out[1], 1, MPI_LONG, right, 60, around, 1, MPI_LONG, left, 60, world, MPI_STATUS_IGNORE);
		add(around, 1);
		MPI_Waitall(3, pending, MPI_STATUSES_IGNORE);
		add(all, LENGTH);
		add(in[4], 4);
		add(in[5], 3);
		MPI_Waitall(3, lasting, MPI_STATUSES_IGNORE);
		add(in[0], LENGTH);
		MPI_Waitall(2, pending + 3, MPI_STATUSES_IGNORE);
		add(in[2], 2 * LENGTH);
		MPI_Grequest_complete(own);
		MPI_Wait(&own, &status);
		MPI_Get_count(&status, MPI_LONG, &count);
		sum = sum * 31 + count;
		MPI_Mrecv(in[3], 2 * LENGTH, MPI_LONG, &message, &status);
		MPI_Get_elements(&status, MPI_LONG, &count);
		add(in[3], count);
		MPI_Waitall(2, early, MPI_STATUSES_IGNORE);
		MPI_Recv(in[3], LENGTH, MPI_LONG, left, 20, heir, MPI_STATUS_IGNORE);
		add(in[3], LENGTH);
		MPI_Recv(in[3], LENGTH, MPI_LONG, right, 21, heir, MPI_STATUS_IGNORE);
		add(in[3], LENGTH);
		MPI_Dist_graph_neighbors_count(graph, &parts[0], &parts[1], &parts[2]);
		MPI_Cart_shift(ring, 0, 1, &parts[2], &parts[3]);
		for (int i = 0; i < 4; i++)
			sum = sum * 31 + parts[i];
		MPI_Comm_free(&heir);
		sum = sum * 31 + copied + deleted;
		MPI_Info_set(info, "what", round % 2 ? "another" : "more");
	}
	for (int k = 0; k < 4; k++)
		MPI_Request_free(&lasting[k]);
	MPI_Buffer_detach(&there, &count);
	MPI_Type_free(&type);
	MPI_Op_free(&op);
	MPI_Info_free(&info);
	MPI_Group_free(&two);
	MPI_Group_free(&everybody);
	MPI_Comm_free(&pair);
	MPI_Comm_free(&host);
	MPI_Comm_free(&graph);
	MPI_Comm_free(&ring);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	MPI_Comm_free(&world);
	sum = sum * 31 + deleted;
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
