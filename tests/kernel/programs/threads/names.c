/* pthread_setname_np(3): a thread's name of at most 15 bytes, seen in /proc and by prctl, also of another thread. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>

static sem_t ready, go;
static pid_t number;

static void *named(void *arg)
{
	char name[16];

	MUST(!prctl(PR_GET_NAME, name));
	printf("inherited '%s'\n", name);
	MUST(!prctl(PR_SET_NAME, "a name that is too long"));
	MUST(!prctl(PR_GET_NAME, name));
	printf("'%s'\n", name);
	number = gettid();
	sem_post(&ready);
	while (sem_wait(&go))
		;
	MUST(!prctl(PR_GET_NAME, name));
	printf("'%s'\n", name);
	return arg;
}

int main(void)
{
	char name[32] = "", path[64];
	pthread_t thread;

	MUST(!sem_init(&ready, 0, 0) && !sem_init(&go, 0, 0));
	printf("%d\n", pthread_setname_np(pthread_self(), "first"));
	printf("%s\n", strerrorname_np(pthread_setname_np(pthread_self(), "sixteen bytes is")));
	MUST(!pthread_create(&thread, NULL, named, NULL));
	while (sem_wait(&ready))
		;
	printf("%d\n", pthread_getname_np(thread, name, sizeof name));
	printf("'%s'\n", name);
	printf("%s\n", strerrorname_np(pthread_getname_np(thread, name, 3)));
	printf("%d\n", pthread_setname_np(thread, "renamed"));
	snprintf(path, sizeof path, "/proc/self/task/%d/comm", number);
	int fd = open(path, O_RDONLY);
	memset(name, 0, sizeof name);
	MUST(read(fd, name, sizeof name) > 0);
	printf("%s", name);
	fd = open("/proc/self/comm", O_RDWR);
	SAY(write(fd, "by a file\n", 10));
	MUST(!prctl(PR_GET_NAME, name));
	printf("'%s'\n", name);
	sem_post(&go);
	MUST(!pthread_join(thread, NULL));
	return 0;
}
