/* clone(2): a child with another exit signal than SIGCHLD is waited for with __WALL or __WCLONE only. */
#include "../observe.h"
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile int chld, usr1;

static void on_signal(int sig)
{
	if (sig == SIGCHLD)
		chld++;
	else
		usr1++;
}

static pid_t made(int exit_signal, int code)
{
	pid_t pid = (pid_t)syscall(SYS_clone, exit_signal, 0, 0, 0, 0);

	if (!pid)
		_exit(code);
	MUST(pid > 0);
	return pid;
}

int main(void)
{
	int how;

	signal(SIGCHLD, on_signal);
	signal(SIGUSR1, on_signal);
	pid_t pid = made(SIGUSR1, 3);
	SAY(waitpid(pid, &how, WNOHANG));
	OK(waitpid(pid, &how, __WCLONE));
	printf("%d %d %d\n", WEXITSTATUS(how), chld, usr1);
	pid = made(0, 4);
	OK(waitpid(pid, &how, __WALL));
	printf("%d %d %d\n", WEXITSTATUS(how), chld, usr1);
	pid = made(SIGCHLD, 5);
	SAY(waitpid(pid, &how, __WCLONE));
	OK(waitpid(pid, &how, 0));
	printf("%d %d %d\n", WEXITSTATUS(how), chld, usr1);
	return 0;
}
