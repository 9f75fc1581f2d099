/* proc_pid_status(5): name, umask, state, ids, groups, signals and threads. */
#include "../observe.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void show(void)
{
	static const char *const wanted[] = {"Name:",   "Umask:",  "State:",  "Uid:",    "Gid:",        "Threads:",
					     "SigBlk:", "SigIgn:", "SigCgt:", "ShdPnd:", "NoNewPrivs:", "Seccomp:"};
	char line[512];
	FILE *file = fopen("/proc/self/status", "r");

	MUST(file);
	while (fgets(line, sizeof line, file))
		for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				printf("%s", line);
	fclose(file);
}

static void nothing(int number)
{
	(void)number;
}

int main(void)
{
	/* who was started by posix_spawn(3) ignores the C library's own signals, which signal(2) refuses */
	static const unsigned long usual[4];
	sigset_t set;

	for (int own = 32; own <= 33; own++)
		MUST(!syscall(SYS_rt_sigaction, own, usual, NULL, 8));
	show();
	umask(077);
	MUST(!prctl(PR_SET_NAME, "a\\b\nc"));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMAX);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL));
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR2, nothing);
	raise(SIGUSR1);
	MUST(!kill(getpid(), SIGRTMAX));
	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	show();
	return 0;
}
