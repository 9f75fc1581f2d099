/* clone(2): with CLONE_PARENT the caller's parent is the child's parent, too. */
#include "../observe.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	int how, ends[2];
	pid_t self = getpid(), pid, grand;

	MUST(!pipe(ends));
	pid = fork();
	if (!pid) {
		grand = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
		if (!grand)
			_exit(getppid() == self ? 7 : 8);
		MUST(write(ends[1], &grand, sizeof(grand)) == sizeof(grand));
		_exit(wait(NULL) < 0 && errno == ECHILD ? 1 : 2);
	}
	MUST(read(ends[0], &grand, sizeof(grand)) == sizeof(grand));
	OK(waitpid(pid, &how, 0));
	printf("%d\n", WEXITSTATUS(how));
	OK(waitpid(grand, &how, 0));
	printf("%d\n", WEXITSTATUS(how));
	SAY(wait(&how));
	return 0;
}
