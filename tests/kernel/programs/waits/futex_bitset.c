/* futex(2): FUTEX_WAKE_BITSET wakes those whose mask shares a bit with its own. */
#include "../observe.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

static uint32_t word;
static int woken[3];

static void *waits(void *arg)
{
	long me = (long)arg;

	MUST(!syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1u << me));
	__atomic_store_n(&woken[me], 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void wake(unsigned mask, int count)
{
	int done = 0;

	while (done < count) {
		long got = syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 100, NULL, NULL, mask);
		MUST(got >= 0);
		done += (int)got;
		sched_yield();
	}
	printf("mask %x woke %d\n", mask, done);
}

int main(void)
{
	pthread_t threads[3];

	for (long i = 0; i < 3; i++)
		MUST(!pthread_create(&threads[i], NULL, waits, (void *)i));
	wake(2, 1);
	MUST(!pthread_join(threads[1], NULL));
	printf("%d %d %d\n", woken[0], woken[1], woken[2]);
	wake(5, 2);
	MUST(!pthread_join(threads[0], NULL) && !pthread_join(threads[2], NULL));
	printf("%d %d %d\n", woken[0], woken[1], woken[2]);
	wake(-1u, 0);
	return 0;
}
