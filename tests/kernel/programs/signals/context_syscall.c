/* sigreturn(2): the result of an interrupted call is in the handler's context, and the handler may change it. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <ucontext.h>

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	printf("rax in the handler %lld\n", u->uc_mcontext.gregs[REG_RAX]);
	u->uc_mcontext.gregs[REG_RAX] = -EXDEV;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t alarm, none;

	MUST(!sigaction(SIGALRM, &action, NULL));
	sigemptyset(&none);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	raise(SIGALRM);
	SAY(sigsuspend(&none));
	raise(SIGALRM);
	SAY(ppoll(NULL, 0, NULL, &none));
	raise(SIGALRM);
	SAY(pselect(0, NULL, NULL, NULL, NULL, &none));
	raise(SIGALRM);
	SAY(sigprocmask(SIG_SETMASK, &none, NULL));
	SAY(kill(getpid(), SIGALRM));
	SAY(syscall(SYS_tgkill, getpid(), gettid(), SIGALRM));
	return 0;
}
