/* getrusage(2): times and counts of a process that works grow; of children only once they were waited for. */
#include "../observe.h"
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>

static long spent(int who)
{
	struct rusage u;
	MUST(!getrusage(who, &u));
	return u.ru_utime.tv_sec * 1000000l + u.ru_utime.tv_usec + u.ru_stime.tv_sec * 1000000l + u.ru_stime.tv_usec;
}

static void work(void)
{
	long from = spent(RUSAGE_SELF);
	while (spent(RUSAGE_SELF) < from + 20000)
		for (volatile int i = 0; i < 100000; i++)
			;
}

int main(void)
{
	struct tms t;
	siginfo_t info;

	work();
	printf("%d %d\n", spent(RUSAGE_SELF) >= 20000, spent(RUSAGE_CHILDREN) == 0);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		work();
		_exit(0);
	}
	MUST(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	printf("%d\n", spent(RUSAGE_CHILDREN) == 0);
	MUST(waitpid(pid, NULL, 0) == pid);
	printf("%d\n", spent(RUSAGE_CHILDREN) >= 20000);
	printf("%d\n", times(&t) != -1 && t.tms_utime + t.tms_stime > 0 && t.tms_cutime + t.tms_cstime > 0);
	SAY(getrusage(55, NULL));
	return 0;
}
