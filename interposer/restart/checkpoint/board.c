#define RDB_BOARD_OWNER
#include "restart/checkpoint/board.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/monotonic.h"
#include "base/private_file.h"

int board_open(const char *path, unsigned nranks, struct board **out)
{
	struct stat st;
	int fd = private_create(AT_FDCWD, path, O_RDWR), rc = 0;
	if (fd < 0)
		return fd;
	uint64_t bytes = board_bytes(nranks);
	if (fstat(fd, &st) || ((uint64_t)st.st_size < bytes && ftruncate(fd, (off_t)bytes)))
		rc = -errno;
	struct board *b = rc ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (b == MAP_FAILED)
		return rc ? rc : -errno;
	/* all ranks write the same */
	const char *name = strrchr(path, '/');
	b->version = BOARD_VERSION;
	b->nranks = nranks;
	b->relayed = name && !strncmp(name, "/board-", 7);
	__atomic_store_n(&b->magic, BOARD_MAGIC, __ATOMIC_RELEASE);
	*out = b;
	return 0;
}

void board_close(struct board *b)
{
	munmap(b, board_bytes(b->nranks));
}

bool board_lock(struct board *b)
{
	const uint64_t until = monotonic_ns() + 1000000000ull;
	for (uint32_t free = 0;
	     !__atomic_compare_exchange_n(&b->lock, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); free = 0) {
		if (monotonic_ns() > until)
			return false;
		sched_yield();
	}
	return true;
}

void board_unlock(struct board *b)
{
	__atomic_store_n(&b->lock, 0, __ATOMIC_SEQ_CST);
}

bool board_silent(struct board *b)
{
	bool begun = false, all = true;
	for (unsigned rank = 0; rank < b->nranks; rank++) {
		const struct board_slot *s = board_slot(b, rank);
		const uint64_t mpi = __atomic_load_n(&s->mpi, __ATOMIC_SEQ_CST);
		if (s->state == BOARD_GONE || s->state == BOARD_ABSENT)
			continue; /* another check refuses then */
		if (__atomic_load_n(&s->silent, __ATOMIC_SEQ_CST))
			return true;
		begun |= mpi != BOARD_MPI_NONE;
		all &= mpi >= BOARD_MPI_RUNS;
	}
	return begun && !all;
}

static bool find_clock(const struct board_slot *s, uint64_t id, uint64_t *at)
{
	for (uint64_t i = 0; i < s->nclocks && i < BOARD_COMMS; i++)
		if (s->clocks[i].id == id) {
			*at = i;
			return true;
		}
	return false;
}

bool board_behind(struct board *b, unsigned rank)
{
	const struct board_slot *own = board_slot(b, rank);
	for (unsigned other = 0; other < b->nranks; other++) {
		const struct board_slot *s = board_slot(b, other);
		for (uint64_t i = 0; other != rank && i < own->nclocks; i++) {
			uint64_t at;
			if (find_clock(s, own->clocks[i].id, &at) && board_count(s, at) > board_count(own, i))
				return true;
		}
		for (uint64_t i = 0, at; other != rank && i < s->nclocks && i < BOARD_COMMS; i++)
			if (board_names(s->clocks[i].id, rank) && !find_clock(own, s->clocks[i].id, &at))
				return true;
	}
	return false;
}

/* A rank that is held changes none of its clocks.  If no rank has moved between two looks at all of them, all were held
 * at once, with the clocks seen there. */
bool board_stable(struct board *b)
{
	uint64_t moves = 0, sent = 0, received = 0;
	for (unsigned look = 0; look < 2; look++) {
		uint64_t sum = 0;
		sent = received = 0;
		for (unsigned rank = 0; rank < b->nranks; rank++) {
			const struct board_slot *s = board_slot(b, rank);
			sum += __atomic_load_n(&s->moves, __ATOMIC_SEQ_CST);
			if (__atomic_load_n(&s->state, __ATOMIC_SEQ_CST) != BOARD_HELD)
				return false;
			if (__atomic_load_n(&s->pending, __ATOMIC_SEQ_CST))
				return false;
			/* in pairs received never exceeds sent, so equal sums are equal pairs */
			received += __atomic_load_n(&s->received, __ATOMIC_SEQ_CST);
			sent += __atomic_load_n(&s->sent, __ATOMIC_SEQ_CST);
		}
		for (unsigned rank = 0; rank < b->nranks; rank++)
			if (board_behind(b, rank))
				return false;
		if (look && sum != moves)
			return false;
		moves = sum;
	}
	return sent == received;
}
