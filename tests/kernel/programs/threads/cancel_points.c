/* pthreads(7): a thread that waits in a cancellation point ends there when it is cancelled, and its cleanup handlers run. */
#include "../observe.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>

static int fds[2], pair[2], listener;
static sem_t never;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void cleanup(void *arg)
{
	printf("cleanup %s", (const char *)arg);
}

static void unlock(void *arg)
{
	printf("mutex held %d ", pthread_mutex_trylock(arg) == EBUSY);
	pthread_mutex_unlock(arg);
}

static void *waits(void *arg)
{
	static const char *const names[] = {"read",  "poll", "select", "sem_wait",   "cond_wait", "nanosleep",
					    "pause", "recv", "accept", "testcancel", "sigwait"};
	long which = (long)arg;
	struct pollfd one = {fds[0], POLLIN, 0};
	sigset_t set;
	char c;
	int sig;

	pthread_cleanup_push(cleanup, (void *)names[which]);
	switch (which) {
	case 0: (void)!read(fds[0], &c, 1); break;
	case 1: poll(&one, 1, -1); break;
	case 2: select(0, NULL, NULL, NULL, NULL); break;
	case 3: sem_wait(&never); break;
	case 4:
		pthread_mutex_lock(&mutex);
		pthread_cleanup_push(unlock, &mutex);
		for (;;)
			pthread_cond_wait(&cond, &mutex);
		pthread_cleanup_pop(0);
		break;
	case 5: nanosleep(&(struct timespec){1000, 0}, NULL); break;
	case 6: pause(); break;
	case 7: recv(pair[0], &c, 1, 0); break;
	case 8: accept(listener, NULL, NULL); break;
	case 9:
		for (;;)
			pthread_testcancel();
	case 10:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigwait(&set, &sig);
		break;
	}
	pthread_cleanup_pop(0);
	return "not cancelled";
}

int main(void)
{
	pthread_t thread;
	void *result;

	MUST(!pipe(fds) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && !sem_init(&never, 0, 0));
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(!bind(listener, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) && !listen(listener, 1));
	for (long i = 0; i < 11; i++) {
		MUST(!pthread_create(&thread, NULL, waits, (void *)i));
		MUST(!pthread_cancel(thread) && !pthread_join(thread, &result));
		printf(": cancelled %d\n", result == PTHREAD_CANCELED);
	}
	return 0;
}
