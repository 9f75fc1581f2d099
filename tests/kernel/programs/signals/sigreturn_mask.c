/* sigreturn(2): the mask is the one of the handler's context when it returns, not the one that sigprocmask set in it. */
#include "../observe.h"
#include <signal.h>
#include <ucontext.h>

static int blocked(int sig)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, sig);
}

static void in_vain(int sig)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	printf("handler %d: blocked %d\n", sig, blocked(SIGHUP));
}

static void opens(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)info;
	printf("handler %d: pending one is let through\n", sig);
	sigdelset(&u->uc_sigmask, SIGHUP);
	sigaddset(&u->uc_sigmask, SIGKILL);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = opens, .sa_flags = SA_SIGINFO};
	sigset_t hup;

	signal(SIGUSR1, in_vain);
	signal(SIGHUP, in_vain);
	MUST(!sigaction(SIGUSR2, &action, NULL));
	raise(SIGUSR1);
	printf("after: %d\n", blocked(SIGHUP));
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	sigprocmask(SIG_BLOCK, &hup, NULL);
	raise(SIGHUP);
	printf("still blocked %d\n", blocked(SIGHUP));
	raise(SIGUSR2);
	printf("after: %d kill %d\n", blocked(SIGHUP), blocked(SIGKILL));
	return 0;
}
