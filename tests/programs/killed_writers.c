/* killed_writers N: N times a child tells its parent something, which kills it at once. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int ends[2], status;
	char byte = 0;
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n; n--) {
		if (pipe(ends))
			return 1;
		const pid_t child = fork();
		if (!child) {
			if (write(ends[1], &byte, 1) == 1)
				pause();
			_exit(2);
		}
		if (read(ends[0], &byte, 1) != 1 || kill(child, SIGTERM) || waitpid(child, &status, 0) != child ||
		    !WIFSIGNALED(status))
			return 3;
		close(ends[0]);
		close(ends[1]);
	}
	return 0;
}
