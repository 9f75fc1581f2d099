/* vfork(2): the parent goes on when the child has ended or executed a program, and sees what the child stored. */
#include "../observe.h"
#include <sys/wait.h>

static volatile int stored;

int main(void)
{
	int how;
	pid_t pid = vfork();

	if (!pid) {
		stored = 5;
		_exit(6);
	}
	printf("%d\n", stored);
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		stored = 7;
		execl("/bin/sh", "sh", "-c", "exit 9", NULL);
		_exit(1);
	}
	printf("%d\n", stored);
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		stored = 11;
		execl("/does/not/exist", "x", NULL);
		stored = errno;
		_exit(2);
	}
	printf("%s\n", strerrorname_np(stored));
	MUST(waitpid(pid, &how, 0) == pid);
	return 0;
}
