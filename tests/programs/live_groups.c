/* Children in a process group of the first one's, and one in a session of its own; getppid() marks the place. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN_SESSION = 2, CHILDREN };

static int child(int which, pid_t leader, int in, int out)
{
	char c = 'x';
	if (which == IN_SESSION)
		setsid();
	else
		setpgid(0, leader);
	if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
		return 1;
	if (which == IN_SESSION)
		return getsid(0) == getpid() && getpgrp() == getpid() ? 3 : 9;
	if (getpgrp() != (leader ? leader : getpid()))
		return 9;
	alarm(60);
	pause();
	return 9;
}

int main(void)
{
	int go[2], up[2], status, ended = 0;
	pid_t pids[CHILDREN] = {0};
	char c;
	if (pipe(go) || pipe(up))
		return 2;
	for (int i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		if (!pids[i])
			return child(i, i ? pids[0] : 0, go[0], up[1]);
		if (i != IN_SESSION) /* as shells do: whoever comes first */
			setpgid(pids[i], pids[0]);
	}
	for (int i = 0; i < CHILDREN; i++)
		if (read(up[0], &c, 1) != 1)
			return 3;
	getppid();
	if (write(go[1], "xxx", CHILDREN) != CHILDREN)
		return 4;
	if (waitpid(pids[IN_SESSION], &status, 0) != pids[IN_SESSION] || WEXITSTATUS(status) != 3)
		return 5;
	if (getpgid(pids[1]) != pids[0] || kill(-pids[0], SIGTERM))
		return 6;
	while (waitpid(-pids[0], &status, 0) > 0)
		ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
	printf("%d of the group\n", ended);
	return ended != IN_SESSION;
}
