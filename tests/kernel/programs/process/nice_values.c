/* getpriority(2): nice values add up, are cut at 19, and are inherited; errors. */
#include "../observe.h"
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	int how, from = getpriority(PRIO_PROCESS, 0);

	MUST(from <= 10);
	printf("%d\n", nice(3) - from);
	pid_t pid = fork();
	if (!pid)
		_exit(getpriority(PRIO_PROCESS, 0) - from);
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	SAY(setpriority(PRIO_PROCESS, 0, 100));
	printf("%d %ld\n", getpriority(PRIO_PROCESS, 0), syscall(SYS_getpriority, PRIO_PROCESS, 0));
	SAY(setpriority(9, 0, 0));
	SAY(getpriority(PRIO_PROCESS, 1 << 29));
	return 0;
}
