/* Thread-local variables of the program, of a library that is there from the start, and of one opened later. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#ifdef LIBRARY
__thread long lent = 5;
__thread char room[300];

long lend(long n)
{
	room[7] = (char)n;
	lent += n;
	return lent;
}
#else
__thread int mine = 10;
__thread char name[20];
static pthread_barrier_t both;

static void look(void)
{
	pthread_barrier_wait(&both); /* @look */
}

static void *work(void *opened)
{
	mine = 22;
	name[0] = 'w';
	errno = 33;
	if (opened)
		((long (*)(long))opened)(100);
	look();
	look();
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *lend = library ? dlsym(library, "lend") : NULL;
	pthread_t thread;

	if (argc > 1 && !lend)
		return 1;
	pthread_barrier_init(&both, NULL, 2);
	mine = 11;
	if (close(-1) == 0) /* @wrong */
		return 1;
	pthread_create(&thread, NULL, work, lend); /* @closed */
	look();
	if (lend)
		((long (*)(long))lend)(1);
	mine = 12;
	look();
	pthread_join(thread, NULL);
	return 0;
}
#endif
