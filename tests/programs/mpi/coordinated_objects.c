/* Ranks (an even number of them) that have the rarer objects of MPI when rank 0 waits, computing, for a file that a test
 * makes: inter-communicators with messages and collectives under way, an attached buffer whose messages nobody has asked
 * for, messages that are matched and not received, a copy of a communicator under way, a group's own communicator, a
 * graph with a nonblocking exchange between neighbours, memory attached to a window or shared, generalized requests,
 * attributes, error codes of its own.
 * argv: steps, gate.  Each rank prints a sum that tells whether anything was lost or came twice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELD = 16, LONG = 30000, ROOM = 4 * (LONG * 8 + 1000) };

static long queried, copied;

static int query(void *state, MPI_Status *status)
{
	queried += *(long *)state;
	MPI_Status_set_elements(status, MPI_INT, 3);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = 5;
	status->MPI_TAG = 6;
	return MPI_SUCCESS;
}

static int released(void *state)
{
	*(long *)state += 1;
	return MPI_SUCCESS;
}

static int cancelled(void *state, int complete)
{
	(void)state;
	(void)complete;
	return MPI_SUCCESS;
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	(void)comm;
	(void)keyval;
	(void)extra;
	*(void **)out = (char *)in + 1;
	copied++;
	*flag = 1;
	return MPI_SUCCESS;
}

static void wait_for(const char *gate)
{
	printf("half\n");
	fflush(stdout);
	while (access(gate, F_OK))
		for (volatile int k = 0; k < 1000000; k++)
			;
}

/* Nobody goes on into a collective, where no checkpoint finds it, before rank 0 does. */
static void meet(int rank, int size, const char *gate)
{
	if (rank == 0)
		wait_for(gate);
	for (int to = 1; to < size && rank == 0; to++)
		MPI_Send(&rank, 1, MPI_INT, to, 30, MPI_COMM_WORLD);
	if (rank)
		MPI_Recv(&size, 1, MPI_INT, 0, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static unsigned long attribute(MPI_Comm comm, int keyval)
{
	void *value = NULL;
	int flag;

	MPI_Comm_get_attr(comm, keyval, &value, &flag);
	return flag ? (unsigned long)value : 999;
}

/* `of_tag` has a class of MPI. */
static unsigned long errors(int code, int of_tag)
{
	char text[MPI_MAX_ERROR_STRING];
	int len, class, tag;

	MPI_Error_string(code, text, &len);
	MPI_Error_class(code, &class);
	MPI_Error_class(of_tag, &tag);
	return (unsigned long)(code + class + len * 7 + (int)strlen(text)) + (tag == MPI_ERR_TAG);
}

/* By the others' ranks and both sizes. */
static unsigned long across(MPI_Comm inter, long mine, unsigned long sum)
{
	long theirs = 0;
	int remote;

	MPI_Allreduce(&mine, &theirs, 1, MPI_LONG, MPI_SUM, inter);
	MPI_Comm_remote_size(inter, &remote);
	return sum * 31 + (unsigned long)(theirs * 7 + remote);
}

int main(int argc, char **argv)
{
	const int steps = atoi(argv[1]);
	static long large[LONG], in[LONG], attached[2 * FIELD], ring[FIELD];
	int rank, size, left, right, keyval, got, half, flag, class, code, of_tag;
	MPI_Comm mine, inter, merged, pair, graph, other;
	MPI_Group world, low;
	MPI_Win dynamic, board;
	long *all = NULL; /* shared by all ranks: three numbers of each */
	MPI_Aint own, theirs;
	void *room = malloc(ROOM);
	unsigned long sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	half = rank % 2;
	MPI_Buffer_attach(room, ROOM);
	MPI_Comm_split(MPI_COMM_WORLD, half, rank, &mine);
	MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - half, 3, &inter);
	MPI_Comm_set_name(inter, "both halves");
	MPI_Intercomm_merge(inter, half, &merged);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, (int[]){size - 1, 0}, &low);
	pair = MPI_COMM_NULL;
	if (rank == 0 || rank == size - 1)
		MPI_Comm_create_group(MPI_COMM_WORLD, low, 4, &pair);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
				       MPI_INFO_NULL, 0, &graph);
	MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
	MPI_Comm_set_attr(graph, keyval, (void *)(unsigned long)(100 + rank));
	MPI_Add_error_class(&class);
	MPI_Add_error_code(class, &code);
	MPI_Add_error_string(code, "of the program");
	MPI_Add_error_code(MPI_ERR_TAG, &of_tag);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
	MPI_Win_attach(dynamic, attached, sizeof(attached));
	MPI_Get_address(attached, &own);
	MPI_Sendrecv(&own, 1, MPI_AINT, left, 1, &theirs, 1, MPI_AINT, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < LONG; i++)
		large[i] = rank + i;
	for (int i = 0; i < FIELD; i++)
		ring[i] = rank * 10 + i;
	MPI_Win_allocate_shared(3 * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &all, &board);
	MPI_Win_shared_query(board, 0, &own, &got, &all);
	MPI_Win_lock_all(0, board);
	all[3 * rank] = all[3 * rank + 1] = rank;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, dynamic);
	for (int s = 0; s < steps; s++) {
		long token = (long)(sum % 1000), seen = 0, state = s, around = 0, deep = 0;
		MPI_Request some[4], made;
		MPI_Message first, second;
		MPI_Status status;

		/* two matched, of which one is asked for, and two that nobody has matched */
		for (int i = 0; i < 4; i++) {
			large[0] = token + i;
			MPI_Bsend(large, i % 2 ? LONG : FIELD, MPI_LONG, right, 10 + i, graph);
		}
		MPI_Mprobe(left, 10, graph, &first, &status);
		do
			MPI_Improbe(MPI_ANY_SOURCE, 11, graph, &flag, &second, &status);
		while (!flag);
		MPI_Get_count(&status, MPI_LONG, &got);
		sum = sum * 31 + (unsigned long)got;
		MPI_Send(&token, 1, MPI_LONG, rank / 2, 20, inter); /* the one of the other half, of as many */
		MPI_Irecv(&seen, 1, MPI_LONG, MPI_ANY_SOURCE, 20, inter, &some[0]);
		MPI_Ineighbor_allgather(&token, 1, MPI_LONG, &around, 1, MPI_LONG, graph, &some[1]);
		MPI_Comm_idup(graph, &other, &some[2]);
		MPI_Grequest_start(query, released, cancelled, &state, &some[3]);
		MPI_Grequest_start(query, released, cancelled, &state, &made);
		MPI_Grequest_complete(made);
		MPI_Accumulate(ring, FIELD, MPI_LONG, right, theirs + (MPI_Aint)sizeof(ring), FIELD, MPI_LONG, MPI_SUM,
			       dynamic);
		all[3 * right + 1] += token; /* nobody else's before the next barrier */
		all[3 * rank + 2] = s;
		if (s == steps / 2)
			meet(rank, size, argv[2]);
		sum = sum * 31 + errors(code, of_tag);
		MPI_Grequest_complete(some[3]);
		MPI_Wait(&some[3], &status);
		MPI_Get_elements(&status, MPI_INT, &got);
		sum = sum * 31 + (unsigned long)(got + status.MPI_SOURCE + status.MPI_TAG + state + queried);
		MPI_Wait(&made, MPI_STATUS_IGNORE);
		MPI_Mrecv(in, LONG, MPI_LONG, &second, &status);
		sum = sum * 31 + (unsigned long)(in[0] + in[LONG - 1] + status.MPI_SOURCE);
		MPI_Imrecv(in, FIELD, MPI_LONG, &first, &made);
		MPI_Wait(&made, &status);
		sum = sum * 31 + (unsigned long)(in[0] + status.MPI_TAG);
		MPI_Waitall(3, some, MPI_STATUSES_IGNORE);
		sum = sum * 31 + (unsigned long)(seen + around) + attribute(other, keyval) + (unsigned long)copied;
		MPI_Recv(in, LONG, MPI_LONG, left, 13, graph, MPI_STATUS_IGNORE);
		sum = sum * 31 + (unsigned long)in[0];
		MPI_Mprobe(MPI_ANY_SOURCE, 12, graph, &first, &status);
		MPI_Mrecv(in, FIELD, MPI_LONG, &first, MPI_STATUS_IGNORE);
		sum = sum * 31 + (unsigned long)in[0];
		sum = across(inter, token, sum);
		MPI_Win_flush_all(dynamic);
		MPI_Win_sync(board);
		MPI_Barrier(merged);
		MPI_Win_sync(dynamic);
		MPI_Win_sync(board);
		for (int i = 0; i < 3 * size; i++)
			sum = sum * 31 + (unsigned long)all[i];
		for (int i = 0; i < FIELD; i++) {
			sum = sum * 31 + (unsigned long)attached[FIELD + i];
			ring[i] = (ring[i] * 7 + rank) % 100003;
		}
		MPI_Barrier(other);
		MPI_Comm_free(&other);
		token = (long)(sum % 100003);
		if (pair != MPI_COMM_NULL) {
			MPI_Allreduce(&token, &deep, 1, MPI_LONG, MPI_MAX, pair);
			MPI_Comm_free(&pair);
			MPI_Comm_create_group(MPI_COMM_WORLD, low, 5, &pair);
		}
		sum += (unsigned long)deep;
		if (s % 5 == 4) { /* leaders that are not the first */
			MPI_Comm_free(&inter);
			MPI_Intercomm_create(mine, size / 2 - 1, merged, half ? size / 2 - 1 : size - 1, s, &inter);
		}
	}
	MPI_Win_unlock_all(dynamic);
	MPI_Win_unlock_all(board);
	MPI_Win_free(&board);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_detach(dynamic, attached);
	MPI_Win_free(&dynamic);
	MPI_Buffer_detach(&room, &got);
	printf("rank %d sum %lu room %d\n", rank, sum, got == ROOM);
	MPI_Finalize();
	return 0;
}
