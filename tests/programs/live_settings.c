/* Settings of a process: live_settings set FILE makes and shows them.  Where FILE exists the next program shows them,
 * before that or after it.  getppid() marks the place to restart at. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int set(void)
{
	struct rlimit files, memory;
	cpu_set_t may, one;
	int cpu = 0;
	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_AS, &memory);
	files.rlim_cur = 100;
	memory.rlim_cur = 1l << 40;
	sched_getaffinity(0, sizeof(may), &may);
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	umask(077);
	/* of a group's leader the session stays */
	return setrlimit(RLIMIT_NOFILE, &files) || setrlimit(RLIMIT_AS, &memory) || chdir("/usr") ||
	       setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 3) ||
	       sched_setaffinity(0, sizeof(one), &one) || (getpgrp() != getpid() && setsid() < 0) ||
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_TIMERSLACK, 77777, 0, 0, 0) ||
	       prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) || personality(ADDR_NO_RANDOMIZE) < 0;
}

static void show(void)
{
	char folder[64];
	struct rlimit files, memory, seconds;
	cpu_set_t may;
	int reaps = 0;
	const unsigned mask = umask(0);
	umask(mask);
	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_AS, &memory);
	getrlimit(RLIMIT_CPU, &seconds); /* the launcher's */
	sched_getaffinity(0, sizeof(may), &may);
	prctl(PR_GET_CHILD_SUBREAPER, &reaps);
	printf("%lu files, %lu bytes, %o, nice %d, %d processor, %s, session %d, group %d, %d, %d, reaps %d, %x, %lu s\n",
	       (unsigned long)files.rlim_cur, (unsigned long)memory.rlim_cur, mask, getpriority(PRIO_PROCESS, 0),
	       CPU_COUNT(&may), getcwd(folder, sizeof(folder)), getsid(0) == getpid(), getpgrp() == getpid(),
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_TIMERSLACK), reaps, personality(0xffffffff),
	       (unsigned long)seconds.rlim_cur);
	fflush(stdout);
}

static void next(int argc, char **argv)
{
	if (argc > 2 && access(argv[2], F_OK) == 0)
		execl("/proc/self/exe", argv[0], (char *)NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && set())
		return 2;
	next(argc, argv);
	for (int i = 0; i < 3; i++)
		getppid();
	show();
	next(argc, argv);
	return 0;
}
