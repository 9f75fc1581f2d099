/* sched_setattr(2): policies, parameters and their errors; SCHED_RESET_ON_FORK. */
#include "../observe.h"
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	struct sched_param p = {0};
	int how;

	SAY(sched_getscheduler(0));
	SAY(sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &p));
	SAY(sched_getscheduler(0));
	pid_t pid = fork();
	if (!pid)
		_exit(sched_getscheduler(0));
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	SAY(sched_setscheduler(0, 77, &p));
	p.sched_priority = 5;
	SAY(sched_setscheduler(0, SCHED_OTHER, &p));
	SAY(sched_setscheduler(0, SCHED_FIFO, NULL));
	SAY(sched_getparam(0, &p));
	printf("%d\n", p.sched_priority);
	SAY(sched_get_priority_max(SCHED_FIFO));
	SAY(sched_get_priority_min(SCHED_RR));
	SAY(sched_get_priority_max(44));
	SAY(sched_getscheduler(-1));
	SAY(sched_getscheduler(1 << 29));
	return 0;
}
