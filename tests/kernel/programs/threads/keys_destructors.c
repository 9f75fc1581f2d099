/* pthread_key_create(3p): destructors run when a thread ends, again for values that they set, at most four times. */
#include "../observe.h"
#include <limits.h>
#include <pthread.h>

static pthread_key_t again, once, removed;

static void destroy_again(void *value)
{
	printf("again %ld\n", (long)value);
	pthread_setspecific(again, (char *)value + 1);
}

static void destroy_once(void *value)
{
	printf("once %s, own value %d\n", (char *)value, pthread_getspecific(once) != NULL);
}

static void *thread(void *arg)
{
	pthread_setspecific(again, (void *)1);
	pthread_setspecific(once, "value");
	pthread_setspecific(removed, "lost");
	pthread_key_delete(removed);
	return arg;
}

int main(void)
{
	pthread_key_t more;
	pthread_t t;
	int count = 0;

	MUST(!pthread_key_create(&again, destroy_again) && !pthread_key_create(&once, destroy_once));
	MUST(!pthread_key_create(&removed, destroy_once));
	MUST(!pthread_create(&t, NULL, thread, NULL) && !pthread_join(t, NULL));
	printf("%d\n", pthread_getspecific(once) == NULL);
	while (!pthread_key_create(&more, NULL))
		count++;
	printf("more keys %d of %d\n", count, PTHREAD_KEYS_MAX);
	printf("%d\n", pthread_setspecific(5000, "x"));
	pthread_setspecific(once, "of the first thread");
	pthread_exit(NULL);
}
