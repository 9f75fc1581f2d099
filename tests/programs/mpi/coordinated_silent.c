/* Rank 1 is in a call in which it waits for rank 0, which comes there when a test makes a file.  argv: call gate. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *call, *gate;

static int is(const char *name)
{
	return !strcmp(call, name);
}

/* Rank 0 does much that can be seen before it comes. */
static void late(int rank)
{
	while (rank == 0 && access(gate, F_OK))
		usleep(100);
}

static int launched_as(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	return atoi(rank ? rank : getenv("PMI_RANK"));
}

static void meet(int rank)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm other;

	if (rank == 1)
		MPI_Open_port(MPI_INFO_NULL, port);
	MPI_Bcast(port, sizeof(port), MPI_CHAR, 1, MPI_COMM_WORLD);
	late(rank);
	if (rank == 1)
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
	else
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
	MPI_Comm_disconnect(&other);
}

static void spawn(int rank, char **argv)
{
	MPI_Comm children;

	late(rank);
	MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
	MPI_Comm_disconnect(&children);
}

static int child(void)
{
	MPI_Comm parent;

	MPI_Init(NULL, NULL);
	MPI_Comm_get_parent(&parent);
	MPI_Comm_disconnect(&parent);
	MPI_Finalize();
	return 0;
}

/* Rank 0 has a lock that others could share, and rank 1 wants it for itself. */
static void lock(int rank)
{
	int word = 0, *memory;
	MPI_Win win;

	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	if (rank == 0)
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	late(rank);
	if (rank == 1)
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Get(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
	MPI_Win_unlock(0, win);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	char memory[64];
	int rank;
	MPI_Comm comm;
	MPI_Win win;
	MPI_File file;

	if (argc < 3)
		return child();
	call = argv[1];
	gate = argv[2];
	if (is("init"))
		late(launched_as());
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (is("meet")) {
		meet(rank);
	} else if (is("spawn")) {
		spawn(rank, argv);
	} else if (is("lock")) {
		lock(rank);
	} else if (!is("init") && !is("finalize")) {
		late(rank);
		if (is("split")) {
			MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
		} else if (is("window")) {
			MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
			MPI_Win_free(&win);
		} else if (is("file")) {
			MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
			MPI_File_close(&file);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	printf("rank %d is through\n", rank);
	fflush(stdout);
	if (is("finalize"))
		late(rank);
	MPI_Finalize();
	return 0;
}
