/* A byte of the input goes to the last block of a datatype, or to a hole in it, which is then handed out. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1024, ROOM = 32 << 20, PAGE = 4096 };
static char input[BYTES] __attribute__((aligned(4096)));
static char got[ROOM / 4];
static int from;

static void send(const char *what, MPI_Datatype type, int count, char *buffer, char *there)
{
	int size;
	MPI_Type_commit(&type);
	MPI_Type_size(type, &size);
	if ((size_t)size * count > sizeof(got))
		exit(4);
	if (pread(from, input, BYTES, 0) != BYTES)
		exit(3);
	*there = input[0];
	MPI_Sendrecv(buffer, count, type, 0, 1, got, size * count, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	*there = 0;
	memset(got, 0, sizeof(got));
	pread(from, input, BYTES, 0);
	MPI_Type_free(&type);
	puts(what);
}

static MPI_Datatype irregular(int n, int *at)
{
	MPI_Datatype type;
	int *places = malloc(n * sizeof(*places));
	for (int i = 0, next = 0; i < n; i++, next += 2 + i % 5 + i % 3)
		places[i] = *at = next;
	MPI_Type_create_indexed_block(n, 1, places, MPI_INT, &type);
	free(places);
	return type;
}

/* A part of a distributed array of 13 by 11; what it holds MPI_Pack says. */
static void distributed(int way, int order, int rank, char *room)
{
	static const struct {
		int kind[2], arg[2], grid[2];
	} ways[] = {
		{{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, {MPI_DISTRIBUTE_DFLT_DARG, 2}, {2, 3}},
		{{MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, {MPI_DISTRIBUTE_DFLT_DARG, 6}, {3, 2}},
		{{MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE},
		 {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG},
		 {6, 1}},
	};
	static int numbers[13 * 11], packed[13 * 11];
	int size, at = 0, last = 0, hole = -1;
	char in[13 * 11] = {0};
	MPI_Datatype type;
	for (int i = 0; i < 13 * 11; i++)
		numbers[i] = i;
	for (int what = 0; what < 2; what++) {
		MPI_Type_create_darray(6, rank, 2, (int[]){13, 11}, ways[way].kind, ways[way].arg, ways[way].grid,
				       order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &type);
		MPI_Type_commit(&type);
		MPI_Type_size(type, &size);
		if (!what) {
			MPI_Pack(numbers, 1, type, packed, sizeof(packed), &at, MPI_COMM_SELF);
			for (int i = 0; i < size / 4; i++)
				in[packed[i]] = 1;
			for (int i = 0; i < 13 * 11; i++)
				last = in[i] ? i : last;
			for (int i = 1; i < last; i++)
				hole = !in[i] && in[i - 1] ? i : hole;
		}
		send(what ? "hole" : "last", type, 1, room, room + 4 * (what ? hole : last));
	}
}

int main(int argc, char **argv)
{
	static const int counts[] = {1, 1023, 1024, 1025, 100000};
	char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MPI_Datatype type, inner, pair[2] = {MPI_INT, MPI_CHAR};
	MPI_Init(&argc, &argv);
	from = open(argv[1], O_RDONLY);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const int n = counts[i];
		int last;
		MPI_Type_vector(n, 1, 5, MPI_INT, &type);
		send("last", type, 1, room, room + (n - 1) * 20l);
		MPI_Type_vector(n, 1, 5, MPI_INT, &type);
		send("hole", type, 1, room, room + (n / 2) * 20l + (n > 1 ? 7 : 4));
		type = irregular(n, &last);
		send("last", type, 1, room, room + 4l * last);
		type = irregular(n, &last);
		send("hole", type, 1, room, room + 4l * (last > 0 ? last - 1 : 1));
		MPI_Type_create_resized(MPI_INT, 0, 24, &type); /* elements of one block */
		send("last", type, n, room, room + (n - 1) * 24l);
		MPI_Type_create_hvector(n, 1, -20, MPI_INT, &type); /* a negative lower bound */
		send("last", type, 1, room + ROOM / 2, room + ROOM / 2 - (n - 1) * 20l);
		MPI_Type_create_hvector(n, 1, -20, MPI_INT, &type);
		send("hole", type, 1, room + ROOM / 2, room + ROOM / 2 - (n - 1) * 20l + 5);
		MPI_Type_create_struct(2, (int[]){1, 3}, (MPI_Aint[]){0, 9}, pair,
				       &inner); /* nested: 4, 3 of 16 bytes */
		MPI_Type_create_resized(inner, 0, 16, &type);
		MPI_Type_free(&inner);
		inner = type;
		MPI_Type_vector((n + 2) / 3, 3, 4, inner, &type);
		MPI_Type_free(&inner);
		send("last", type, 2, room, room + ((n + 2) / 3 - 1) * 64l + 32 + 11);
		MPI_Type_create_struct(2, (int[]){1, 3}, (MPI_Aint[]){0, 9}, pair, &inner);
		MPI_Type_vector(n, 1, 2, inner, &type);
		MPI_Type_free(&inner);
		send("hole", type, 1, room, room + 6);
	}
	for (int order = 0; order < 2; order++) {
		const int sizes[] = {40, 50, 60}, subs[] = {30, 20, 10}, starts[] = {9, 29, 49};
		const long at = order ? 9 + 29 + (29 + 19) * 40l + (49 + 9) * 2000l
				      : (9 + 29) * 3000l + (29 + 19) * 60l + 49 + 9;
		MPI_Type_create_subarray(3, sizes, subs, starts, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_SHORT,
					 &type);
		send("last", type, 1, room, room + 2 * at + 1);
		MPI_Type_create_subarray(3, sizes, subs, starts, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_SHORT,
					 &type);
		send("hole", type, 1, room, room + 2 * at + 2);
	}
	for (int i = 0; i < 3 * 2 * 3; i++)
		distributed(i % 3, i / 3 % 2, (int[]){0, 3, 5}[i / 6], room);
	/* between the blocks lies a page that nobody may read, or that others could write to */
	mprotect(room + PAGE, PAGE, PROT_NONE);
	MPI_Type_create_hvector(4, PAGE, 2 * PAGE, MPI_CHAR, &type);
	send("last", type, 1, room, room + 7 * PAGE - 1);
	mmap(room + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	MPI_Type_create_hvector(4, PAGE, 2 * PAGE, MPI_CHAR, &type);
	send("last", type, 1, room, room + 7 * PAGE - 1);
	MPI_Finalize();
	return 0;
}
