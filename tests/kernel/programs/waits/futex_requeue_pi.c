/* futex(2): FUTEX_CMP_REQUEUE_PI moves a waiter to a lock with priority inheritance, or a kernel without it says ENOSYS. */
#include "../observe.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

static uint32_t first, second;
static int woken;

static void *waits(void *arg)
{
	long got = syscall(SYS_futex, &first, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, NULL, &second);

	if (!got) {
		MUST((second & FUTEX_TID_MASK) == (uint32_t)gettid());
		MUST(!syscall(SYS_futex, &second, FUTEX_UNLOCK_PI_PRIVATE));
	} else {
		MUST(errno == ENOSYS);
	}
	__atomic_store_n(&woken, 1, __ATOMIC_SEQ_CST);
	return arg;
}

int main(void)
{
	pthread_t thread;

	MUST(!syscall(SYS_futex, &second, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	MUST(!pthread_create(&thread, NULL, waits, NULL));
	for (long got = 0; got == 0 && !__atomic_load_n(&woken, __ATOMIC_SEQ_CST);) {
		got = syscall(SYS_futex, &first, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 10, &second, 0);
		MUST(got >= 0 || errno == ENOSYS);
		got = got < 0 ? 0 : got;
		sched_yield();
	}
	MUST(!syscall(SYS_futex, &second, FUTEX_UNLOCK_PI_PRIVATE));
	MUST(!pthread_join(thread, NULL));
	printf("word %x\n", second);
	return 0;
}
