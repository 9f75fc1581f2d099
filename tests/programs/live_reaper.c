/* The parent of its orphans, as a container's first process is; what it has asked for its children have, or not. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int up[2], down[2], first[2];

static void say(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(9);
}

static void hear(int fd)
{
	char c;
	if (read(fd, &c, 1) != 1)
		_exit(9);
}

static int limited(void)
{
	struct rlimit now = {0};
	int set = 0;
	getrlimit(RLIMIT_NPROC, &now);
	prctl(PR_GET_CHILD_SUBREAPER, &set);
	return now.rlim_cur == 12345 && now.rlim_max == 23456 ? 5 + set : 1;
}

int main(void)
{
	const struct rlimit most = {12345, 23456};
	int status, signal;
	if (pipe(up) || pipe(down) || pipe(first) || setrlimit(RLIMIT_NPROC, &most) || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 1;
	if (!fork()) {
		hear(first[0]);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGUSR1);
			prctl(PR_SET_PDEATHSIG, SIGURG);
			say(up[1]);
			hear(down[0]);
			say(up[1]);
			hear(down[0]);
			prctl(PR_GET_PDEATHSIG, &signal);
			_exit(signal == SIGURG ? limited() : 2);
		}
		_exit(3);
	}
	getppid();
	say(first[1]);
	hear(up[0]);
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	fflush(stdout);
	getppid();
	say(down[1]);
	hear(up[0]);
	getppid();
	say(down[1]);
	const int orphan = wait(&status);
	printf("orphan %d %d %d\n", orphan > 0, WEXITSTATUS(status), limited());
	return 0;
}
