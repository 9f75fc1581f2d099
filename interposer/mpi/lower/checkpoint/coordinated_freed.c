/* Communicators that this rank has freed and others perhaps not.  MPI_Comm_free does not wait for the others, which may
 * have collectives to begin that this rank has left: the count stays on the board until a nonblocking barrier has been
 * through all ranks. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include "lower/checkpoint/coordinated.h"

static struct freed {
	struct freed *next;
	uint64_t name;
	MPI_Comm comm;
	MPI_Request all;
} * list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
bool freed_there;

int freed_begin(uint64_t name, MPI_Comm comm)
{
	struct freed *one = needed(malloc(sizeof(*one)));
	int rc = PMPI_Ibarrier(comm, &one->all);

	if (rc != MPI_SUCCESS) {
		free(one);
		return rc;
	}
	one->name = name;
	one->comm = comm;
	pthread_mutex_lock(&lock);
	one->next = list;
	list = one;
	freed_there = true;
	pthread_mutex_unlock(&lock);
	return MPI_SUCCESS;
}

uint64_t freed_next(void)
{
	uint64_t name = 0;
	int flag = 0;

	/* a function of the program that MPI calls meanwhile (a reduction's) may itself call MPI */
	if (pthread_mutex_trylock(&lock))
		return 0;
	for (struct freed **at = &list, *one; !name && (one = *at);) {
		if (PMPI_Test(&one->all, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || !flag) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		PMPI_Comm_free(&one->comm);
		name = one->name;
		free(one);
	}
	freed_there = list;
	pthread_mutex_unlock(&lock);
	return name;
}

/* Before MPI_Finalize, where UCX complains of requests that are not complete.  A rank that never frees its communicator
 * is not waited for. */
void freed_end(void)
{
	enum { LONG_ENOUGH_S = 2 };
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (now = begin; freed_there && now.tv_sec - begin.tv_sec <= LONG_ENOUGH_S;
	     clock_gettime(CLOCK_MONOTONIC, &now)) {
		freed_next();
		sched_yield();
	}
}
