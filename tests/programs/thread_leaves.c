/* Threads that end with signals of their own pending, a lock in memory that is gone, a bad clear_child_tid; and signals that
 * are sent to one thread but never arrive. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 300 };

static pthread_barrier_t step;
static int by_handler;

static void on_signal(int sig)
{
	(void)sig;
	by_handler++;
}

static void join(void *(*fn)(void *))
{
	pthread_t t;
	pthread_create(&t, NULL, fn, NULL);
	pthread_join(t, NULL);
}

static void *with_pending(void *arg)
{
	pthread_barrier_wait(&step); /* signals for this thread are sent */
	pthread_barrier_wait(&step);
	return arg;
}

static void *looks(void *arg)
{
	sigset_t pending;
	sigpending(&pending);
	printf("after it: %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGRTMIN));
	return arg;
}

/* A pending signal of one thread ends with it: SIGUSR1 would end the process. */
static void pending_end(const sigset_t *block)
{
	pthread_t t;
	pthread_sigmask(SIG_BLOCK, block, NULL);
	pthread_create(&t, NULL, with_pending, NULL);
	pthread_barrier_wait(&step);
	pthread_kill(t, SIGUSR1);
	for (int i = 0; i < 5; i++)
		pthread_sigqueue(t, SIGRTMIN, (union sigval){.sival_int = i});
	pthread_barrier_wait(&step);
	pthread_join(t, NULL);
	join(looks);
	pthread_sigmask(SIG_UNBLOCK, block, NULL);
	printf("alive\n");
}

static void *lock_gone(void *arg)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t robust;
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init((pthread_mutex_t *)page, &robust);
	pthread_mutex_lock((pthread_mutex_t *)page);
	munmap(page, 4096);
	return arg;
}

static void *bad_address(void *tid)
{
	*(long *)tid = syscall(SYS_set_tid_address, 8);
	pthread_barrier_wait(&step);
	return NULL;
}

static void detached(void)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	pthread_t t;
	long tid;
	pthread_create(&t, NULL, bad_address, &tid);
	pthread_detach(t);
	pthread_barrier_wait(&step);
	for (int i = 0; i < 60000 && !syscall(SYS_tgkill, getpid(), tid, 0); i++)
		nanosleep(&nap, NULL);
	printf("gone: %d\n", syscall(SYS_tgkill, getpid(), tid, 0) == -1 && errno == ESRCH);
}

static void *takes(void *set)
{
	const struct timespec now = {0, 0};
	siginfo_t info;
	pthread_sigmask(SIG_BLOCK, set, NULL);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	memset(&info, 0, sizeof(info));
	while (sigtimedwait(set, &info, &now) > 0) {
		const char *rest = (const char *)&info + 32;
		int other = 0;
		for (int i = 0; i < 16; i++)
			other += rest[i] != 0;
		printf("taken %d: %d, other bytes %d\n", info.si_signo - SIGRTMIN, info.si_value.sival_int, other);
	}
	return NULL;
}

/* Of MANY sent signals one arrives, or none: the next one is that thread's all the same. */
static void many_sent(void)
{
	sigset_t set;
	pthread_t t;
	signal(SIGRTMIN, on_signal);
	signal(SIGUSR2, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGUSR2);
	pthread_create(&t, NULL, takes, &set);
	pthread_barrier_wait(&step);
	for (int i = 0; i < MANY; i++)
		pthread_sigqueue(t, 0, (union sigval){.sival_int = i});
	pthread_sigqueue(t, SIGRTMIN, (union sigval){.sival_int = 7});
	pthread_barrier_wait(&step);
	pthread_join(t, NULL);
	printf("by the handler: %d\n", by_handler);
}

int main(void)
{
	sigset_t block;
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigaddset(&block, SIGRTMIN);
	pthread_barrier_init(&step, NULL, 2);
	pending_end(&block);
	join(lock_gone);
	detached();
	many_sent();
	return 0;
}
