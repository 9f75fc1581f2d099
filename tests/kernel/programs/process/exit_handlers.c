/* atexit(3): handlers run in reverse order, also those that a handler registers; _exit runs none. */
#include "../observe.h"
#include <stdlib.h>
#include <sys/wait.h>

static void third(void)
{
	puts("third");
}

static void first(void)
{
	puts("first");
	atexit(third);
}

static void second(int code, void *text)
{
	printf("second %d %s\n", code, (char *)text);
}

int main(void)
{
	int how;

	atexit(first);
	on_exit(second, "text");
	pid_t pid = fork();
	if (!pid)
		_exit(4);
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(300);
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	exit(5);
}
