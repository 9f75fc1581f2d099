/* sigqueue(3): the value is a pointer or a number, and the whole pointer comes; also through sigtimedwait and a timer. */
#include "../observe.h"
#include <signal.h>
#include <stdint.h>
#include <time.h>

static int variable;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("%d code %d pointer %d low %d\n", sig, info->si_code, info->si_value.sival_ptr == &variable,
	       info->si_value.sival_int == (int)(uintptr_t)&variable);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_ptr = &variable};
	struct itimerspec now = {.it_value = {0, 1}};
	siginfo_t info;
	sigset_t set;
	timer_t timer;

	MUST(!sigaction(SIGUSR1, &action, NULL));
	SAY(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_ptr = &variable}));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	MUST(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &now, NULL));
	SAY(sigwaitinfo(&set, &info) == SIGRTMIN);
	printf("code %d pointer %d\n", info.si_code, info.si_value.sival_ptr == &variable);
	SAY(timer_delete(timer));
	return 0;
}
