/* One thread takes a lock again as soon as it has released it, and has it at nearly all its calls; the other wants it
 * `rounds` times.  argv: mutex, omp or spin, rounds.  Prints a sum; on stderr how often the first had the lock. */
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static omp_lock_t omp;
static atomic_int word, done, begun;
static const char *kind;
static volatile double sink;

static void lock(void)
{
	if (!strcmp(kind, "mutex"))
		pthread_mutex_lock(&mutex);
	else if (!strcmp(kind, "omp"))
		omp_set_lock(&omp);
	else
		while (atomic_exchange(&word, 1))
			while (atomic_load(&word))
				__builtin_ia32_pause();
}

static void unlock(void)
{
	if (!strcmp(kind, "mutex"))
		pthread_mutex_unlock(&mutex);
	else if (!strcmp(kind, "omp"))
		omp_unset_lock(&omp);
	else
		atomic_store(&word, 0);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 2 ? atoi(argv[2]) : 0, zero = open("/dev/zero", O_RDONLY);
	long had = 0, sum = 0, failed = 0;
	kind = argc > 1 ? argv[1] : "omp";
	omp_init_lock(&omp);
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 0) {
		while (!done) {
			char c;
			lock();
			failed += read(zero, &c, 1) != 1;
			had++;
			begun = 1;
			unlock();
		}
	} else {
		while (!begun)
			;
		for (int i = 0; i < rounds; i++) {
			for (int k = 0; k < 5000; k++)
				sink += k;
			lock();
			sum += i;
			unlock();
		}
		done = 1;
	}
	printf("%ld\n", failed ? -1 : sum);
	fprintf(stderr, "%ld\n", had);
	return 0;
}
