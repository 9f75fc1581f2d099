/* Processes made by clone(2) and clone3(2) with flags: a pidfd, the parent's working directory and umask, the grandparent as
 * parent.  Prints what came of each. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long make(int three, uint64_t flags, int *pidfd)
{
	struct clone_args args;
	fflush(stdout);
	if (!three)
		return syscall(SYS_clone, flags | SIGCHLD, 0, pidfd, 0, 0);
	memset(&args, 0, sizeof(args));
	args.flags = flags;
	args.pidfd = (uint64_t)pidfd;
	args.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD;
	return syscall(SYS_clone3, &args, sizeof(args));
}

int main(void)
{
	char directory[4096];
	siginfo_t info;
	int status;
	for (int three = 0; three < 2; three++) {
		int pidfd = -1;
		long pid = make(three, CLONE_PIDFD, &pidfd);
		if (!pid)
			_exit(7);
		memset(&info, 0, sizeof(info));
		const int waited = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
		printf("pidfd %d %d %d\n", pidfd, waited, info.si_status);
		close(pidfd);

		chdir("/");
		umask(022);
		pid = make(three, CLONE_FS, NULL);
		if (!pid) {
			chdir("/usr");
			umask(077);
			_exit(0);
		}
		waitpid((pid_t)pid, &status, 0);
		printf("fs %s %o\n", getcwd(directory, sizeof(directory)), umask(022));

		pid = make(three, 0, NULL);
		if (!pid) {
			const pid_t mine = getppid();
			const long child = make(three, CLONE_PARENT, NULL);
			if (!child)
				_exit(getppid() == mine ? 5 : 6);
			_exit(waitpid((pid_t)child, NULL, 0) < 0 && errno == ECHILD ? 4 : 3);
		}
		waitpid((pid_t)pid, &status, 0);
		printf("parent %d", WEXITSTATUS(status));
		const pid_t other = waitpid(-1, &status, __WALL);
		printf(" and %d %d\n", other > 0, WEXITSTATUS(status));
	}
	const long refused = make(0, CLONE_PIDFD | CLONE_PARENT_SETTID, &status);
	printf("refused %ld %d\n", refused, errno);
	return 0;
}
