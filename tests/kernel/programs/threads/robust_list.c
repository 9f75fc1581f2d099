/* set_robust_list(2): when a thread ends its robust futexes get FUTEX_OWNER_DIED and a waiter is woken. */
#include "../observe.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

struct lock {
	struct robust_list list;
	uint32_t word;
};

static struct lock locks[2];

static void *owner(void *arg)
{
	static struct robust_list_head head;

	head.list.next = &locks[0].list;
	locks[0].list.next = &locks[1].list;
	locks[1].list.next = &head.list;
	head.futex_offset = offsetof(struct lock, word);
	locks[0].word = (uint32_t)gettid() | FUTEX_WAITERS;
	locks[1].word = 12345;
	SAY(syscall(SYS_set_robust_list, &head, sizeof head));
	SAY(syscall(SYS_set_robust_list, &head, sizeof head - 1));
	return arg;
}

int main(void)
{
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, owner, NULL) && !pthread_join(thread, NULL));
	for (int i = 0; i < 2; i++)
		printf("%d: died %d waiters %d tid %u\n", i, !!(locks[i].word & FUTEX_OWNER_DIED),
		       !!(locks[i].word & FUTEX_WAITERS), locks[i].word & FUTEX_TID_MASK);
	return 0;
}
