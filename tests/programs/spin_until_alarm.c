/* Computes until its SIGALRM handler says stop, without one system call. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
volatile unsigned long turns;

static void on_alarm(int sig)
{
	stop = sig;
}

int main(void)
{
	signal(SIGALRM, on_alarm);
	ualarm(200000, 0);
	while (!stop)
		turns++;
	puts("alarm");
	return 0;
}
