/* timer_create(2): SIGEV_THREAD calls a function in a new thread, SIGEV_THREAD_ID signals one thread, SIGEV_NONE nothing. */
#include "../observe.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t done;

static void function(union sigval value)
{
	printf("function: %d, another thread %d\n", value.sival_int, gettid() != getpid());
	sem_post(&done);
}

static void *waits(void *arg)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1};
	struct itimerspec soon = {.it_value = {0, 1000000}};
	siginfo_t info;
	sigset_t set;
	timer_t timer;

	event._sigev_un._tid = gettid();
	event.sigev_value.sival_int = 12;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	MUST(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &soon, NULL));
	SAY(sigwaitinfo(&set, &info) == SIGRTMIN + 1);
	printf("code %d value %d overrun %d\n", info.si_code, info.si_value.sival_int, info.si_overrun);
	SAY(timer_delete(timer));
	return arg;
}

int main(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = function};
	struct itimerspec soon = {.it_value = {0, 1000000}}, now;
	pthread_t thread;
	timer_t timer, none;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	event.sigev_value.sival_int = 31;
	MUST(!sem_init(&done, 0, 0) && !timer_create(CLOCK_REALTIME, &event, &timer));
	MUST(!timer_settime(timer, 0, &soon, NULL));
	while (sem_wait(&done))
		;
	SAY(timer_delete(timer));
	MUST(!pthread_create(&thread, NULL, waits, NULL) && !pthread_join(thread, NULL));
	event = (struct sigevent){.sigev_notify = SIGEV_NONE};
	MUST(!timer_create(CLOCK_MONOTONIC, &event, &none) && !timer_settime(none, 0, &soon, NULL));
	do
		MUST(!timer_gettime(none, &now));
	while (now.it_value.tv_nsec || now.it_value.tv_sec);
	printf("overrun %d\n", timer_getoverrun(none));
	SAY(timer_settime(none, 0, &(struct itimerspec){.it_value = {-1, 0}}, NULL));
	SAY(timer_delete(none));
	event.sigev_notify = 99;
	SAY(timer_create(CLOCK_MONOTONIC, &event, &none));
	SAY(timer_create(55, NULL, &none));
	return 0;
}
