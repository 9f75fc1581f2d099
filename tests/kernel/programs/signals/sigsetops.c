/* psignal(3), sigset operations: names and abbreviations of signals, SIGRTMIN of the C library, sets of sets. */
#include "../observe.h"
#include <signal.h>

int main(void)
{
	sigset_t a, b, c;

	for (int s = 0; s <= 34; s++)
		printf("%d %s %s\n", s, sigabbrev_np(s) ? sigabbrev_np(s) : "-", sigdescr_np(s) ? sigdescr_np(s) : "-");
	printf("%s\n", strsignal(SIGRTMIN + 3));
	printf("%s\n", strsignal(1000));
	psignal(SIGBUS, "prefix");
	printf("%d %d\n", SIGRTMIN, SIGRTMAX);
	sigemptyset(&a);
	sigaddset(&a, SIGUSR1);
	sigfillset(&b);
	SAY(sigandset(&c, &a, &b));
	SAY(sigisemptyset(&c));
	SAY(sigorset(&c, &a, &a));
	SAY(sigismember(&c, SIGUSR1));
	SAY(sigismember(&b, 32));
	SAY(sigaddset(&a, 0));
	SAY(sigaddset(&a, 65));
	SAY(sigdelset(&a, 33));
	return 0;
}
