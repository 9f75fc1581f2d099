/* A robust mutex that processes share, and an owner that ends without unlocking it, in each way. */
#include "calls.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t *mutex;
static int locked[2]; /* pipe */

static void *lock(void *arg)
{
	NEED(pthread_mutex_lock(mutex) == 0);
	return arg;
}

static void own(int way)
{
	pthread_t thread;
	if (way == 3) {
		NEED(pthread_create(&thread, NULL, lock, NULL) == 0 && pthread_join(thread, NULL) == 0);
	} else {
		lock(NULL);
	}
	NEED(write(locked[1], "", 1) == 1);
	if (way == 3)
		pause(); /* until it is killed */
	if (way == 0)
		_exit(0);
	if (way == 1)
		raise(SIGKILL);
	if (way == 2)
		execl("/bin/true", "true", (char *)NULL);
}

int main(void)
{
	pthread_mutexattr_t attr;
	mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(mutex != MAP_FAILED && pthread_mutexattr_init(&attr) == 0);
	NEED(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
	NEED(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0);
	NEED(pthread_mutex_init(mutex, &attr) == 0);
	NEED(pipe(locked) == 0);
	for (int way = 0; way < 4; way++) {
		char c;
		const pid_t child = fork();
		NEED(child >= 0);
		if (child == 0)
			own(way);
		if (way < 3)
			NEED(waitpid(child, NULL, 0) == child);
		NEED(read(locked[0], &c, 1) == 1);
		const int rc = pthread_mutex_lock(mutex);
		printf("%d %d\n", way, rc == EOWNERDEAD);
		NEED(pthread_mutex_consistent(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
		if (way == 3)
			NEED(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
	}
	return 0;
}
