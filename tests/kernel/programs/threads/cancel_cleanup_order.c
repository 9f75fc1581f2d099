/* pthread_cleanup_push(3): handlers run from the last to the first at a cancellation or pthread_exit, then the keys' destructors. */
#include "../observe.h"
#include <pthread.h>

static pthread_key_t key;

static void says(void *arg)
{
	printf("%s\n", (const char *)arg);
}

static void *ends(void *arg)
{
	pthread_setspecific(key, "destructor");
	pthread_cleanup_push(says, "first pushed");
	pthread_cleanup_push(says, "second pushed");
	pthread_cleanup_push(says, "popped and run");
	pthread_cleanup_pop(1);
	pthread_cleanup_push(says, "popped");
	pthread_cleanup_pop(0);
	if (arg)
		pthread_exit("exit");
	pthread_cancel(pthread_self());
	pthread_testcancel();
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	void *result;

	MUST(!pthread_key_create(&key, says));
	for (long how = 0; how < 2; how++) {
		MUST(!pthread_create(&thread, NULL, ends, (void *)how) && !pthread_join(thread, &result));
		printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : (char *)result);
	}
	return 0;
}
