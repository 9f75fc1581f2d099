/* pid_namespaces(7): the first process of a namespace has number 1, by clone and by unshare; its end ends all others there. */
#include "../observe.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void inside(int ready)
{
	int status;

	SAY(getpid());
	SAY(getppid());
	SAY(gettid());
	pid_t child = fork();
	if (!child) {
		SAY(getpid());
		SAY(getppid());
		SAY(kill(1, 0));
		_exit(4);
	}
	MUST(waitpid(child, &status, 0) == 2);
	SAY(WEXITSTATUS(status));
	/* one that would never end by itself */
	if (!fork()) {
		MUST(write(ready, "", 1) == 1);
		for (;;)
			pause();
	}
}

int main(void)
{
	int status, ends[2];
	char byte;

	MUST(!pipe(ends));
	long child = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (child == -1 && errno == EPERM)
		skip("not root");
	if (!child) {
		inside(ends[1]);
		MUST(read(ends[0], &byte, 1) == 1);
		_exit(5);
	}
	MUST(child > 1 && waitpid((pid_t)child, &status, 0) == child);
	SAY(WEXITSTATUS(status));
	close(ends[1]);
	SAY(read(ends[0], &byte, 1)); /* nobody has the other end any more */

	MUST(!pipe(ends));
	SAY(unshare(CLONE_NEWPID));
	SAY(getpid() > 1);
	if (!(child = fork())) {
		inside(ends[1]);
		MUST(read(ends[0], &byte, 1) == 1);
		_exit(6);
	}
	MUST(waitpid((pid_t)child, &status, 0) == child);
	SAY(WEXITSTATUS(status));
	SAY(fork()); /* the namespace has no first process any more */
	return 0;
}
