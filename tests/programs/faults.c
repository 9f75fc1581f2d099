/* Ends in the way its first argument says. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int got;
volatile int before_end;

static void handler(int sig)
{
	got += sig != 0;
}

static void from_handler(int sig)
{
	_exit(40 + sig);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	printf("how: %s\n", how);
	fflush(stdout);
	before_end = 1;
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "abort"))
		assert(argc == 5);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "exit3"))
		exit(3);
	if (!strcmp(how, "segv-handler")) {
		signal(SIGSEGV, from_handler);
		*(volatile int *)8 = 1;
	}
	if (!strcmp(how, "handlers")) {
		signal(SIGUSR1, handler);
		signal(SIGALRM, handler);
		raise(SIGUSR1);
		alarm(1);
		while (got < 2)
			pause();
		printf("got %d\n", got);
	}
	if (!strcmp(how, "spin"))
		for (;;)
			before_end++;
	return 0;
}
