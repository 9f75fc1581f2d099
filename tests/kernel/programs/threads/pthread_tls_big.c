/* pthreads(7): errno, thread-local arrays and strerror's buffer are one for each thread; a new one begins with the first values. */
#include "../observe.h"
#include <locale.h>
#include <pthread.h>

static __thread char room[100000] = {1, 2, 3};
static __thread int *self;

static void *uses(void *arg)
{
	locale_t mine = newlocale(LC_ALL_MASK, "C", NULL);

	printf("%d %d %d\n", room[0], room[2], self == NULL);
	memset(room, 9, sizeof room);
	errno = 77;
	self = &errno;
	printf("%s\n", uselocale(mine) == LC_GLOBAL_LOCALE ? "global before" : "?");
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(mine);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	errno = 5;
	for (int i = 0; i < 3; i++)
		MUST(!pthread_create(&threads[i], NULL, uses, NULL) && !pthread_join(threads[i], NULL));
	printf("%d %d %d\n", errno, room[2], self == NULL);
	return 0;
}
