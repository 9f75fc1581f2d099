/* One thread computes with a floating-point environment of its own and communicates, the other polls the clock: each
 * of its looks is an event, and most switches between the two happen while the first is inside a call of MPI. */
#define _GNU_SOURCE
#include <fenv.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

static volatile int done;

static struct floats {
	unsigned short status, control;
	unsigned mxcsr;
} first, now;
static int looks, others;

static void *poll_clock(void *arg)
{
	while (!done)
		for (unsigned long from = __rdtsc(); __rdtsc() - from < 200000;)
			sched_yield();
	return arg;
}

static void look(struct floats *f)
{
	__asm__ volatile("fnstsw %0; fnstcw %1; stmxcsr %2" : "=m"(f->status), "=m"(f->control), "=m"(f->mxcsr));
}

static void compare(void)
{
	look(&now);
	looks++;
	others += now.status != first.status || now.control != first.control || now.mxcsr != first.mxcsr;
}

int main(void)
{
	volatile double three = 3, third;
	pthread_t thread;
	int rank, provided;

	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pthread_create(&thread, NULL, poll_clock, NULL);
	fesetround(FE_UPWARD);
	feenableexcept(FE_INVALID);
	__asm__ volatile("fldz; fxam; fstp %%st(0)" : : : "st"); /* a condition code */
	third = 1 / three;                                       /* inexact */
	look(&first);
	for (int i = 0; i < 30; i++) {
		int data[100] = {i};
		MPI_Status status;
		if (rank == 0) {
			usleep(1000);
			MPI_Send(data, 100, MPI_INT, 1, 1, MPI_COMM_WORLD);
			compare();
			MPI_Recv(data, 100, MPI_INT, 1, 1, MPI_COMM_WORLD, &status);
		} else {
			MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
			compare();
			MPI_Recv(data, 100, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
			MPI_Ssend(data, 100, MPI_INT, 0, 1, MPI_COMM_WORLD);
		}
		compare();
	}
	done = 1;
	pthread_join(thread, NULL);
	printf("control %x mxcsr %x status %x, %d looks, %d others\n", first.control, first.mxcsr, first.status, looks,
	       others);
	return MPI_Finalize() || third < 0;
}
