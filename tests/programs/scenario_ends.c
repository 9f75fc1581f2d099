/* Ways to end in the middle; tests name places by the comments with @. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int written;
volatile int *nowhere;

static void finish(const char *how)
{
	if (!strcmp(how, "segv"))
		*nowhere = 1; /* @segv */
	if (!strcmp(how, "abrt"))
		abort(); /* @abrt */
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL); /* @kill */
	if (!strcmp(how, "exit"))
		exit(3); /* @exit */
	if (!strcmp(how, "_exit"))
		_exit(3); /* @_exit */
	pause(); /* @pause */
}

int main(int argc, char **argv)
{
	char line[32];

	if (argc != 2)
		return 2;
	for (int i = 0; i < 50; i++) {
		int n = snprintf(line, sizeof(line), "%d line %d\n", (int)getpid(), i);

		if (write(1, line, n) == n)
			written++;
	}
	finish(argv[1]); /* @main-finish */
	written = -1;
	return 0;
}
