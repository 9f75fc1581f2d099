/* vfork(2), setresuid(2): a child that becomes another user returns the memory to a parent of several threads, too. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int end[2];
static volatile int stored;

static void *stay(void *arg)
{
	char byte;

	MUST(read(end[0], &byte, 1) == 0);
	return arg;
}

int main(void)
{
	const uid_t other = 99; /* which need not exist */
	pthread_t thread;

	if (geteuid())
		skip("only root may become another user");
	MUST(!pipe2(end, O_CLOEXEC) && !pthread_create(&thread, NULL, stay, NULL));
	for (int i = 0; i < 4; i++) {
		int status;
		pid_t pid = vfork();

		MUST(pid >= 0);
		if (!pid) {
			if (syscall(SYS_setresgid, other, other, other) || syscall(SYS_setresuid, other, other, other))
				_exit(1);
			stored = i;
			if (i == 1)
				execl("/nowhere", "nowhere", NULL);
			if (i == 2)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		printf("%d: status %d, stored %d\n", i, status, i == 2 || stored == i);
	}
	close(end[1]);
	MUST(!pthread_join(thread, NULL));
	return 0;
}
