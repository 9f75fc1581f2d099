/* Timers of timer_create(2) of every kind, and clocks of threads and processes; getppid() marks places to restart at.
 * With the name of a file: without threads, and halfway it waits until that is there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EVERY, ONCE, QUIET, OTHERS, CALLS, TIMERS };

static timer_t timers[TIMERS];
static volatile int rang[TIMERS], wrong, ready, done;
static volatile pid_t other;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const int which = info->si_value.sival_int;
	(void)context;
	rang[which]++;
	wrong |= info->si_code != SI_TIMER || info->si_timerid != (int)(long)timers[which];
	wrong |= (which == EVERY) != (sig == SIGRTMIN);
	wrong |= which == OTHERS && gettid() != other;
}

static void on_call(union sigval value)
{
	rang[value.sival_int]++;
}

static void *wait_there(void *arg)
{
	other = gettid();
	ready = 1;
	while (!done)
		usleep(1000);
	return arg;
}

static int make(int which, clockid_t clock, int notify, int sig, pid_t thread, long ms, int again)
{
	struct sigevent how = {.sigev_notify = notify, .sigev_signo = sig, .sigev_value.sival_int = which};
	struct itimerspec in = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
	if (notify == SIGEV_THREAD)
		how.sigev_notify_function = on_call;
	else
		how._sigev_un._tid = thread;
	if (again)
		in.it_interval = in.it_value;
	return timer_create(clock, &how, &timers[which]) || timer_settime(timers[which], 0, &in, NULL);
}

static void ring_on(int times)
{
	const int until[] = {rang[EVERY] + times, rang[OTHERS] + times, rang[CALLS] + times};
	while (rang[EVERY] < until[0] || !rang[ONCE])
		usleep(1000);
	while (other && (rang[OTHERS] < until[1] || rang[CALLS] < until[2]))
		usleep(1000);
}

static int reads(clockid_t clock)
{
	struct timespec at;
	return clock_gettime(clock, &at) == 0;
}

static void wait_for(const char *gate)
{
	puts("half");
	fflush(stdout);
	while (access(gate, R_OK))
		usleep(1000);
}

int main(int argc, char **argv)
{
	const int many = argc == 1;
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerspec left;
	clockid_t of_thread, of_process;
	pthread_t thread;
	timer_t gone;

	sigaction(SIGRTMIN, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	thread = pthread_self();
	if (many)
		pthread_create(&thread, NULL, wait_there, NULL);
	while (many && !ready)
		usleep(1000);
	pthread_getcpuclockid(thread, &of_thread);
	clock_getcpuclockid(getpid(), &of_process);
	timer_create(CLOCK_MONOTONIC, NULL, &gone);
	int rc = make(EVERY, CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, 0, 8, 1) ||
		 make(ONCE, CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1, 0, 20, 0);
	timer_delete(gone);
	rc = rc || make(QUIET, CLOCK_BOOTTIME, SIGEV_NONE, 0, 0, 1000000, 0);
	if (many)
		rc = rc || make(OTHERS, CLOCK_REALTIME, SIGEV_THREAD_ID, SIGUSR2, other, 9, 1) ||
		     make(CALLS, CLOCK_MONOTONIC, SIGEV_THREAD, 0, 0, 10, 1);
	if (rc)
		return 2;
	getppid();
	ring_on(2);
	getppid();
	if (!many)
		wait_for(argv[1]);
	ring_on(2);
	if (timer_gettime(timers[QUIET], &left) || left.it_value.tv_sec < 1 || left.it_value.tv_sec > 1000)
		return 3;
	if (!reads(of_thread) || !reads(of_process) || timer_getoverrun(timers[EVERY]) < 0)
		return 4;
	for (int i = 0; i < (many ? TIMERS : OTHERS); i++)
		if (timer_delete(timers[i]))
			return 5;
	done = 1;
	if (many)
		pthread_join(thread, NULL);
	printf("%s, once: %d\n", wrong ? "wrong" : "well", rang[ONCE]);
	return 0;
}
