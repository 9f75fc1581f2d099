/* futex(2): FUTEX_CMP_REQUEUE wakes some waiters and moves others to a second word, whose wake finds them. */
#include "../observe.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

static uint32_t first, second;
static int ended;

static void *waits(void *arg)
{
	MUST(!syscall(SYS_futex, &first, FUTEX_WAIT_PRIVATE, 0, NULL));
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

int main(void)
{
	pthread_t threads[4];
	int moved = 0, woken = 0;

	for (int i = 0; i < 4; i++)
		MUST(!pthread_create(&threads[i], NULL, waits, NULL));
	while (moved < 4) {
		long got = syscall(SYS_futex, &first, FUTEX_CMP_REQUEUE_PRIVATE, 0, 100, &second, 0);
		MUST(got >= 0);
		moved += (int)got;
		sched_yield();
	}
	printf("moved %d ended %d\n", moved, ended);
	SAY(syscall(SYS_futex, &first, FUTEX_WAKE_PRIVATE, 100));
	SAY(syscall(SYS_futex, &second, FUTEX_WAKE_PRIVATE, 1));
	SAY(syscall(SYS_futex, &second, FUTEX_CMP_REQUEUE_PRIVATE, 1, 100, &first, 0));
	woken = (int)syscall(SYS_futex, &first, FUTEX_WAKE_OP_PRIVATE, 1, 1, &second,
			     FUTEX_OP(FUTEX_OP_SET, 9, FUTEX_OP_CMP_EQ, 0));
	printf("woken %d second %u\n", woken, second);
	SAY(syscall(SYS_futex, &first, FUTEX_WAKE_PRIVATE, 100));
	for (int i = 0; i < 4; i++)
		MUST(!pthread_join(threads[i], NULL));
	printf("ended %d\n", ended);
	return 0;
}
