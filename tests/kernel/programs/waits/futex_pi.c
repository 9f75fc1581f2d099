/* futex(2): FUTEX_LOCK_PI puts the owner's thread number into the word; EDEADLK for a second time, EPERM for others. */
#include "../observe.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

static uint32_t word;

static void *other(void *arg)
{
	struct timespec now;

	SAY(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL));
	SAY(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
	clock_gettime(CLOCK_REALTIME, &now);
	SAY(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, &now));
	clock_gettime(CLOCK_MONOTONIC, &now);
	SAY(syscall(SYS_futex, &word, 13 | FUTEX_PRIVATE_FLAG, 0, &now)); /* FUTEX_LOCK_PI2 */
	return arg;
}

static void show(void)
{
	printf("owner me %d waiters %d died %d\n", (word & FUTEX_TID_MASK) == (uint32_t)gettid(),
	       !!(word & FUTEX_WAITERS), !!(word & FUTEX_OWNER_DIED));
}

int main(void)
{
	pthread_t thread;

	SAY(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	show();
	SAY(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	SAY(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL));
	MUST(!pthread_create(&thread, NULL, other, NULL) && !pthread_join(thread, NULL));
	show();
	SAY(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
	printf("%x\n", word);
	SAY(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
	SAY(syscall(SYS_futex, &word, FUTEX_LOCK_PI | FUTEX_CLOCK_REALTIME, 0, NULL));
	SAY(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI | FUTEX_CLOCK_REALTIME, 0, NULL));
	SAY(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI | FUTEX_CLOCK_REALTIME, 0, NULL));
	SAY(syscall(SYS_futex, &word, 13 | FUTEX_CLOCK_REALTIME, 0, NULL));
	SAY(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL));
	word = 0x3ffffffe;
	SAY(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	return 0;
}
