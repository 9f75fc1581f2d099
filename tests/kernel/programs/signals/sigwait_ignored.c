/* sigwait(3): a signal that is ignored by default can be waited for while it is blocked; one set to SIG_IGN gets lost. */
#include "../observe.h"
#include <signal.h>
#include <time.h>

int main(void)
{
	static const int sigs[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
	sigset_t set, pending;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 0; i < 4; i++) {
		raise(sigs[i]);
		sigpending(&pending);
		printf("%d pending %d\n", sigs[i], sigismember(&pending, sigs[i]));
	}
	for (unsigned i = 0; i < 5; i++)
		SAY(sigtimedwait(&set, NULL, &(struct timespec){0, 0}));
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	sigpending(&pending);
	printf("ignored pending %d\n", sigismember(&pending, SIGUSR1));
	raise(SIGUSR2);
	signal(SIGUSR2, SIG_IGN);
	sigpending(&pending);
	printf("ignored later pending %d\n", sigismember(&pending, SIGUSR2));
	raise(SIGTSTP);
	raise(SIGCONT);
	sigpending(&pending);
	printf("stop %d continue %d\n", sigismember(&pending, SIGTSTP), sigismember(&pending, SIGCONT));
	raise(SIGTSTP);
	sigpending(&pending);
	printf("stop %d continue %d\n", sigismember(&pending, SIGTSTP), sigismember(&pending, SIGCONT));
	return 0;
}
