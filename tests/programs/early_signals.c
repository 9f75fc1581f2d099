/* Children that a signal may reach before their first instruction after fork(2); the numbers are the arguments. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const struct rlimit none = {0, 0};
	int status;

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 1; i < argc; i++) {
		const pid_t child = fork();
		if (!child)
			for (;;)
				pause();
		if (kill(child, atoi(argv[i])) || waitpid(child, &status, 0) != child)
			return 1;
		printf("%d\n", WTERMSIG(status));
	}
	return 0;
}
