/* threads.h (pthreads(7)): C11 threads, mutexes, conditions, thread-specific storage and call_once. */
#include "../observe.h"
#include <threads.h>
#include <time.h>

static mtx_t mutex;
static cnd_t cond;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;
static thread_local int own = 3;
static int turn, calls;

static void init(void)
{
	calls++;
}

static void destroy(void *value)
{
	printf("destroyed %d\n", *(int *)value);
}

static int runs(void *arg)
{
	static int values[3];
	int me = *(int *)arg;

	call_once(&once, init);
	own += me;
	values[me] = me * 10;
	mtx_lock(&mutex);
	while (turn != me)
		cnd_wait(&cond, &mutex);
	tss_set(key, &values[me]);
	printf("thread %d own %d\n", me, own);
	mtx_unlock(&mutex);
	return me + 100;
}

int main(void)
{
	int numbers[3] = {0, 1, 2}, result;
	thrd_t threads[3];

	MUST(mtx_init(&mutex, mtx_timed) == thrd_success && cnd_init(&cond) == thrd_success);
	MUST(tss_create(&key, destroy) == thrd_success);
	for (int i = 0; i < 3; i++)
		MUST(thrd_create(&threads[i], runs, &numbers[i]) == thrd_success);
	for (int i = 0; i < 3; i++) {
		mtx_lock(&mutex);
		turn = i;
		cnd_broadcast(&cond);
		mtx_unlock(&mutex);
		MUST(thrd_join(threads[i], &result) == thrd_success);
		printf("result %d\n", result);
	}
	mtx_lock(&mutex);
	printf("%d\n", mtx_trylock(&mutex) == thrd_busy);
	printf("%d\n", mtx_timedlock(&mutex, &(struct timespec){1, 0}) == thrd_timedout);
	printf("%d\n", cnd_timedwait(&cond, &mutex, &(struct timespec){1, 0}) == thrd_timedout);
	printf("%d %d calls %d own %d\n", thrd_sleep(&(struct timespec){0, 1000}, NULL),
	       thrd_equal(thrd_current(), threads[0]), calls, own);
	thrd_yield();
	thrd_exit(7);
}
