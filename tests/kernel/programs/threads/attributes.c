/* pthread_attr_init(3): sizes, guards, own stacks, detached state and inherit-sched of a thread, and what getattr_np tells. */
#include "../observe.h"
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>

static sem_t done;
static char *own;

static void *looks(void *arg)
{
	pthread_attr_t attr;
	size_t size, guard;
	void *base;
	char here;
	int detached;

	MUST(!pthread_getattr_np(pthread_self(), &attr));
	pthread_attr_getstack(&attr, &base, &size);
	pthread_attr_getguardsize(&attr, &guard);
	pthread_attr_getdetachstate(&attr, &detached);
	printf("%s: inside %d size %zu guard %zu detached %d mine %d\n", (char *)arg,
	       &here >= (char *)base && &here < (char *)base + size, size / 4096, guard, detached, base == own);
	pthread_attr_destroy(&attr);
	sem_post(&done);
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	size_t size = 1 << 18;

	MUST(!sem_init(&done, 0, 0));
	pthread_attr_init(&attr);
	printf("%d %d\n", pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN - 1),
	       pthread_attr_setdetachstate(&attr, 9));
	MUST(!pthread_attr_setstacksize(&attr, 1 << 20) && !pthread_attr_setguardsize(&attr, 3 * 4096));
	MUST(!pthread_create(&thread, &attr, looks, "sized") && !pthread_join(thread, NULL));
	MUST(!pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	MUST(!pthread_create(&thread, &attr, looks, "detached"));
	while (sem_wait(&done) || sem_wait(&done))
		;
	own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_init(&attr);
	MUST(own != MAP_FAILED && !pthread_attr_setstack(&attr, own, size));
	MUST(!pthread_create(&thread, &attr, looks, "own stack") && !pthread_join(thread, NULL));
	pthread_attr_init(&attr);
	printf("%d\n", pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	printf("%d\n", pthread_attr_setschedpolicy(&attr, SCHED_OTHER));
	MUST(!pthread_create(&thread, &attr, looks, "explicit") && !pthread_join(thread, NULL));
	pthread_attr_setstacksize(&attr, 1ul << 46);
	printf("%s\n", strerrorname_np(pthread_create(&thread, &attr, looks, "too large")));
	return 0;
}
