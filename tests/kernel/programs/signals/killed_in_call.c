/* signal(7): a deadly signal ends a process in whatever call it waits; its parent learns which, and whether a core was dumped. */
#include "../observe.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	static const int sigs[] = {SIGHUP,    SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,    SIGFPE,  SIGKILL,
				   SIGUSR1,   SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGSTKFLT, SIGXCPU, SIGXFSZ,
				   SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSYS,  34,      64};
	struct rlimit none = {0, 0};
	siginfo_t info;
	int fds[2], up[2];
	char c;

	MUST(!setrlimit(RLIMIT_CORE, &none) && !pipe(fds) && !pipe(up));
	for (unsigned i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		pid_t child = fork();
		MUST(child >= 0);
		if (!child)
			_exit((int)(write(up[1], "x", 1) + read(fds[0], &c, 1)));
		MUST(read(up[0], &c, 1) == 1);
		MUST(!kill(child, sigs[i]));
		memset(&info, 0, sizeof info);
		MUST(!waitid(P_PID, (id_t)child, &info, WEXITED));
		printf("%d: code %d status %d\n", sigs[i], info.si_code, info.si_status);
	}
	return 0;
}
