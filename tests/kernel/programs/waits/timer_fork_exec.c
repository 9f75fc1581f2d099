/* timer_create(2): timers are not inherited by fork and are gone after execve; alarm stays over execve. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct itimerspec later = {.it_value = {1000, 0}}, got;
	timer_t timer;
	int status;

	if (argc > 1) {
		printf("alarm kept %d\n", alarm(0) > 400);
		SAY(timer_gettime((timer_t)(long)atoi(argv[1]), &got));
		return 0;
	}
	MUST(!timer_create(CLOCK_REALTIME, NULL, &timer) && !timer_settime(timer, 0, &later, NULL));
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		SAY(timer_gettime(timer, &got));
		SAY(timer_delete(timer));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	SAY(timer_gettime(timer, &got));
	printf("left %d\n", got.it_value.tv_sec > 900);
	alarm(500);
	char number[16];
	snprintf(number, sizeof number, "%d", (int)(long)timer);
	execl("/proc/self/exe", argv[0], number, NULL);
	MUST(0);
}
