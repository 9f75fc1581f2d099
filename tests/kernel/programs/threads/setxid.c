/* nptl(7): setuid and its like change all threads; the raw system calls only the thread that makes them. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

static sem_t step, done;

static void show(const char *who)
{
	uid_t r, e, s;
	gid_t g;

	MUST(!getresuid(&r, &e, &s));
	g = getegid();
	printf("%s: %u %u %u group %u fs %d\n", who, r, e, s, g, setfsuid((uid_t)-1));
}

static void *other(void *arg)
{
	for (int i = 0; i < 4; i++) {
		while (sem_wait(&step))
			;
		show("other");
		sem_post(&done);
	}
	return arg;
}

static void look(const char *what)
{
	printf("%s\n", what);
	show("first");
	sem_post(&step);
	while (sem_wait(&done))
		;
}

int main(void)
{
	pthread_t thread;

	if (geteuid())
		skip("not root");
	MUST(!sem_init(&step, 0, 0) && !sem_init(&done, 0, 0) && !pthread_create(&thread, NULL, other, NULL));
	look("begin");
	MUST(!setegid(1234));
	look("setegid");
	MUST(!syscall(SYS_setresuid, -1, 1001, -1));
	look("the raw call");
	MUST(!syscall(SYS_setresuid, -1, 0, -1));
	MUST(!setresuid(1002, 1003, 1004));
	look("setresuid");
	MUST(!pthread_join(thread, NULL));
	SAY(setuid(0));
	SAY(setresuid(1004, 1002, 1003));
	show("first");
	return 0;
}
