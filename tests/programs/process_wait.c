/* A parent that forks, waits and goes on; its child becomes another program: process_wait PROG ARGS. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int before = 1, after;
static pid_t child;
static int status;

int main(int argc, char **argv)
{
	before = 2; /* @before */
	child = fork(); /* @fork */
	if (child == 0) {
		before = 3; /* @child */
		getppid(); /* an event to stand at */
		execv(argv[1], argv + 1);
		_exit(127);
	}
	after = 1; /* @parent */
	pid_t gone = waitpid(child, &status, 0); /* @wait */
	after = 2; /* @waited */
	printf("%d %d %d\n", child, gone == child, WEXITSTATUS(status)); /* @print */
	return argc < 2;
}
