/* Two ranks hand the bytes of their input to each other in every way that MPI has: each way is a read of the input and
 * then one call that is given it.  A replay in which one read gives other bytes must differ at the call behind it. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1024, N = 4 };
static char input[BYTES] __attribute__((aligned(4096)));
static char got[8 * BYTES];
static int from;

/* Ways are statements: what is read is the input alone. */
#define WAY(statement) \
	if (pread(from, input, BYTES, 0) != BYTES) \
		exit(3); \
	statement;

int main(int argc, char **argv)
{
	int rank, other, one[2] = {1, 1}, small[2] = {N, N}, at[2] = {0, N}, bytes_at[2] = {0, 4 * N}, flag, length;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	other = 1 - rank;
	from = open(argv[1], O_RDONLY);
	int *in = (int *)input;
	const MPI_Comm all = MPI_COMM_WORLD;
	MPI_Datatype column, ints[2] = {MPI_INT, MPI_INT}, made;
	MPI_Request q, r[2];
	MPI_Win win;
	MPI_File file;
	MPI_Comm grid, graph;
	MPI_Group group, part;
	MPI_Info info;
	static int memory[64];

	MPI_Type_vector(8, 1, 16, MPI_INT, &column);
	MPI_Type_commit(&column);
	MPI_Info_create(&info);
	MPI_Comm_group(all, &group);
	MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
	MPI_Dist_graph_create_adjacent(all, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
				       &graph);
	MPI_Cart_create(all, 1, (int[]){2}, (int[]){0}, 0, &grid);

	MPI_Irecv(got, 1, column, other, 1, all, &q);
	WAY(MPI_Send(input, 1, column, other, 1, all))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Irecv(got, N, MPI_INT, other, 1, all, &q);
	WAY(MPI_Ssend(input, N, MPI_INT, other, 1, all))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Irecv(got, N, MPI_INT, other, 1, all, &q);
	WAY(MPI_Isend(input, N, MPI_INT, other, 1, all, r))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Wait(r, MPI_STATUS_IGNORE);
	MPI_Send_init(input, N, MPI_INT, other, 1, all, r);
	MPI_Irecv(got, N, MPI_INT, other, 1, all, &q);
	WAY(MPI_Start(r))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Wait(r, MPI_STATUS_IGNORE);
	MPI_Irecv(got, N, MPI_INT, other, 1, all, &q);
	WAY(MPI_Startall(1, r))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Wait(r, MPI_STATUS_IGNORE);
	WAY(MPI_Sendrecv(input, N, MPI_INT, other, 1, got, N, MPI_INT, other, 1, all, MPI_STATUS_IGNORE))
	WAY(MPI_Sendrecv_replace(input, N, MPI_INT, other, 1, other, 1, all, MPI_STATUS_IGNORE))
	if (rank == 0) {
		WAY(MPI_Bcast(input, N, MPI_INT, 0, all))
		WAY(MPI_Scatter(input, N, MPI_INT, got, N, MPI_INT, 0, all))
		WAY(MPI_Scatterv(input, small, at, MPI_INT, got, N, MPI_INT, 0, all))
	} else {
		MPI_Bcast(got, N, MPI_INT, 0, all);
		MPI_Scatter(NULL, 0, MPI_INT, got, N, MPI_INT, 0, all);
		MPI_Scatterv(NULL, NULL, NULL, MPI_INT, got, N, MPI_INT, 0, all);
	}
	WAY(MPI_Gather(input, N, MPI_INT, got, N, MPI_INT, 1, all))
	WAY(MPI_Gatherv(input, N, MPI_INT, got, small, at, MPI_INT, 1, all))
	WAY(MPI_Allgather(input, N, MPI_INT, got, N, MPI_INT, all))
	WAY(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, input, N, MPI_INT, all))
	WAY(MPI_Allgatherv(input, N, MPI_INT, got, small, at, MPI_INT, all))
	WAY(MPI_Alltoall(input, N, MPI_INT, got, N, MPI_INT, all))
	WAY(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, input, N, MPI_INT, all))
	WAY(MPI_Alltoallv(input, small, at, MPI_INT, got, small, at, MPI_INT, all))
	WAY(MPI_Alltoallw(input, small, bytes_at, ints, got, small, bytes_at, ints, all))
	WAY(MPI_Reduce(input, got, N, MPI_INT, MPI_SUM, 0, all))
	WAY(MPI_Allreduce(input, got, N, MPI_INT, MPI_SUM, all))
	WAY(MPI_Allreduce(MPI_IN_PLACE, input, N, MPI_INT, MPI_SUM, all))
	WAY(MPI_Reduce_scatter(input, got, one, MPI_INT, MPI_SUM, all))
	WAY(MPI_Reduce_scatter_block(input, got, N, MPI_INT, MPI_SUM, all))
	WAY(MPI_Scan(input, got, N, MPI_INT, MPI_SUM, all))
	WAY(MPI_Exscan(input, got, N, MPI_INT, MPI_SUM, all))
	WAY(MPI_Reduce_local(input, got, N, MPI_INT, MPI_SUM))
	WAY(MPI_Iallgather(input, N, MPI_INT, got, N, MPI_INT, all, &q))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	WAY(MPI_Iallreduce(input, got, N, MPI_INT, MPI_SUM, all, &q))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	WAY(MPI_Neighbor_allgather(input, N, MPI_INT, got, N, MPI_INT, graph))
	WAY(MPI_Neighbor_alltoall(input, N, MPI_INT, got, N, MPI_INT, graph))
	WAY(MPI_Neighbor_alltoallv(input, small, at, MPI_INT, got, small, at, MPI_INT, graph))

	MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL, all, &win);
	MPI_Win_fence(0, win);
	WAY(MPI_Put(input, N, MPI_INT, other, 0, N, MPI_INT, win))
	MPI_Win_fence(0, win);
	WAY(MPI_Accumulate(input, N, MPI_INT, other, 8, N, MPI_INT, MPI_SUM, win))
	MPI_Win_fence(0, win);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
	WAY(MPI_Fetch_and_op(input, got, MPI_INT, other, 16, MPI_SUM, win))
	WAY(MPI_Compare_and_swap(input, input + 4, got, MPI_INT, other, 17, win))
	WAY(MPI_Get_accumulate(input, N, MPI_INT, got, N, MPI_INT, other, 20, N, MPI_INT, MPI_SUM, win))
	WAY(MPI_Rput(input, N, MPI_INT, other, 24, N, MPI_INT, win, &q))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Win_unlock(other, win);
	MPI_Win_fence(0, win);
	WAY(memcpy(memory + 32, input, 16); MPI_Win_fence(0, win))
	MPI_Win_free(&win);

	MPI_File_open(all, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	WAY(MPI_File_write_at(file, rank * 64, input, N, MPI_INT, MPI_STATUS_IGNORE))
	WAY(MPI_File_write_at_all(file, rank * 64, input, N, MPI_INT, MPI_STATUS_IGNORE))
	WAY(MPI_File_write_all_begin(file, input, N, MPI_INT))
	MPI_File_write_all_end(file, input, MPI_STATUS_IGNORE);
	WAY(MPI_File_iwrite_at(file, rank * 64, input, N, MPI_INT, &q))
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_File_close(&file);

	flag = 0;
	WAY(MPI_Pack(input, N, MPI_INT, got, sizeof(got), &flag, all))
	flag = 0;
	WAY(MPI_Unpack(input, 16, &flag, got, N, MPI_INT, all))
	WAY(MPI_Group_translate_ranks(group, 2, (in[0] %= 2, in[1] %= 2, in), group, (int *)got))
	WAY(in[0] &= 1; in[1] &= 1; MPI_Cart_rank(grid, in, &flag))
	WAY(in[0] &= 1; MPI_Group_incl(group, 1, in, &part))
	WAY(in[0] &= 1; MPI_Cart_sub(grid, in, &graph))
	WAY(in[0] &= 7; MPI_Type_indexed(1, in, at, MPI_INT, &made))
	WAY(in[0] &= 7; MPI_Type_create_struct(1, one, (MPI_Aint *)input, ints, &made))
	WAY(input[8] = 0; MPI_Comm_set_name(all, input))
	WAY(input[8] = 0; MPI_Info_set(info, "key", input))
	WAY(input[8] = 0; MPI_Info_set(info, input, "value"))
	WAY(input[8] = 0; MPI_Info_get_valuelen(info, input, &length, &flag))
	MPI_Finalize();
	return 0;
}
