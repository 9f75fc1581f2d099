/* clone(2): CLONE_CHILD_SETTID stores in the child's memory, CLONE_PARENT_SETTID in the parent's. */
#include "../observe.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	static int in_parent, in_child;
	int how;
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, 0, &in_parent,
				   &in_child, 0);

	if (!pid)
		_exit((in_child == getpid()) * 2 + (in_parent == getpid()));
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d %d %d\n", WEXITSTATUS(how) >> 1, in_parent == pid, in_child);
	return 0;
}
