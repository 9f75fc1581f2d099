/* wait(2): status of an exit, of a signal, and of a stop. */
#include "../observe.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	const int signals[] = {0, SIGKILL, SIGTERM, SIGSEGV, SIGABRT};
	struct rlimit none = {0, 0};

	MUST(!setrlimit(RLIMIT_CORE, &none));
	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		int how;
		struct rusage used;
		pid_t pid = fork();
		if (!pid) {
			if (signals[i])
				raise(signals[i]);
			_exit(255);
		}
		MUST(wait4(pid, &how, 0, &used) == pid);
		printf("%d %d %d %d %d\n", WIFEXITED(how), WIFSIGNALED(how), WIFSIGNALED(how) ? WTERMSIG(how) : 0,
		       WIFEXITED(how) ? WEXITSTATUS(how) : 0, WIFSTOPPED(how));
		fflush(stdout);
	}
	SAY(wait(NULL));
	return 0;
}
