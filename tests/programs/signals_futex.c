/* futex(2) where a signal comes whose handler has no SA_RESTART: a wake does not wait, so it is made; who waits for a
 * lock that inherits priorities goes on waiting (kernel/futex/pi.c), and pthread_mutex_lock(3) never says EINTR. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { TRIES = 60, TURNS = 60000 };

static volatile sig_atomic_t heard;
static volatile long turns;
static pthread_mutex_t mutex;
static volatile int others; /* the other thread's */
static int held[2];         /* a byte when the other thread holds the lock */

static void on_alarm(int sig)
{
	(void)sig;
	heard++;
}

static void alarm_soon(long us)
{
	struct itimerval soon = {{0, 0}, {0, us}};
	if (setitimer(ITIMER_REAL, &soon, NULL))
		abort();
}

static int wakes(void)
{
	uint32_t word = 0;
	for (int try = 0; try < TRIES; try++) {
		alarm_soon(500);
		for (turns = 0; turns < (long)try * TURNS;)
			turns++;
		if (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0)) {
			printf("wake, try %d: errno %d\n", try, errno);
			return 1;
		}
	}
	return 0;
}

static void *holds(void *arg)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (pthread_mutex_lock(&mutex))
		abort();
	others = 1;
	if (write(held[1], "x", 1) != 1)
		abort();
	while (heard == *(int *)arg) /* until who waits has heard the alarm */
		usleep(1000);
	usleep(10000);
	others = 0;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static int locks(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attr);
	for (int try = 0; try < 10; try++) {
		pthread_t thread;
		char c;
		int before = heard;
		pthread_create(&thread, NULL, holds, &before);
		if (read(held[0], &c, 1) != 1)
			return 1;
		alarm_soon(20000);
		int error = pthread_mutex_lock(&mutex);
		if (error || others) {
			printf("lock, try %d: %d%s\n", try, error, others ? ", while another has it" : "");
			return 1;
		}
		pthread_mutex_unlock(&mutex);
		pthread_join(thread, NULL);
	}
	return 0;
}

int main(void)
{
	struct sigaction how = {.sa_handler = on_alarm};
	if (sigaction(SIGALRM, &how, NULL) || pipe(held))
		return 1;
	if (wakes() || locks())
		return 1;
	printf("heard %s\n", heard > 10 ? "many" : "few");
	return 0;
}
