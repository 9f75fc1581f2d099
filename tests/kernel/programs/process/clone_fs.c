/* clone(2): with CLONE_FS working directory and umask are one for both processes, without it each has its own. */
#include "../observe.h"
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	char where[4096];

	MUST(!mkdir("below", 0700));
	umask(022);
	for (int shared = 0; shared < 2; shared++) {
		pid_t pid = (pid_t)syscall(SYS_clone, (shared ? CLONE_FS : 0) | SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			umask(077);
			_exit(chdir("below"));
		}
		MUST(waitpid(pid, NULL, 0) == pid && getcwd(where, sizeof(where)));
		printf("%s %03o\n", strrchr(where, '/'), umask(022));
		fflush(stdout);
	}
	return 0;
}
