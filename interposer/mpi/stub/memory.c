/* The stub's own memory, and MPI_Alloc_mem: anonymous mappings in the upper half. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include "stub.h"

#define PIECE 64
#define CHUNK 65536

static struct rdb_lock pieces;
static void *free_pieces;
static char *chunk, *chunk_end;

void rdb_lock(struct rdb_lock *lock)
{
	while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
		raw_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

void rdb_unlock(struct rdb_lock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

void *rdb_map(size_t bytes)
{
	long at = raw_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

static void *take_piece(void)
{
	void *piece = free_pieces;

	if (piece) {
		free_pieces = *(void **)piece;
		return piece;
	}
	if (chunk == chunk_end) {
		chunk = rdb_map(CHUNK);
		if (!chunk) {
			chunk_end = NULL;
			return NULL;
		}
		chunk_end = chunk + CHUNK;
	}
	piece = chunk;
	chunk += PIECE;
	return piece;
}

/* At most PIECE bytes, zeroed.  NULL: no memory. */
void *rdb_alloc(size_t bytes)
{
	void *piece;

	if (bytes > PIECE)
		return NULL;
	rdb_lock(&pieces);
	piece = take_piece();
	rdb_unlock(&pieces);
	if (!piece)
		return NULL;
	for (size_t i = 0; i < PIECE / sizeof(uint64_t); i++)
		((volatile uint64_t *)piece)[i] = 0;
	return piece;
}

void rdb_free(void *piece, size_t bytes __attribute__((unused)))
{
	rdb_lock(&pieces);
	*(void **)piece = free_pieces;
	free_pieces = piece;
	rdb_unlock(&pieces);
}

/* The length is in the 64 bytes before the program's memory. */
RDB_MPI(int, Alloc_mem, MPI_Aint size, MPI_Info info __attribute__((unused)), void *baseptr)
{
	size_t *head;

	if (size < 0 || !baseptr)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_ARG, "MPI_Alloc_mem");
	head = rdb_map((size_t)size + 64);
	if (!head)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_NO_MEM, "MPI_Alloc_mem");
	*head = (size_t)size + 64;
	*(void **)baseptr = (char *)head + 64;
	return MPI_SUCCESS;
}

RDB_MPI(int, Free_mem, void *base)
{
	size_t *head = (size_t *)((char *)base - 64);

	if (base)
		raw_syscall(SYS_munmap, (long)head, (long)*head, 0, 0, 0, 0);
	return MPI_SUCCESS;
}
