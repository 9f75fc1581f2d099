/* Handlers at system calls: SA_RESTART, sigsuspend, blocked signals, an alternate stack, a timer. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, users, nested, on_alternate;
static int pipe_fd[2];
static char alternate[65536];

static void on_alarm(int sig)
{
	(void)sig;
	if (++alarms == 3 && write(pipe_fd[1], "x", 1) != 1)
		abort();
}

static void on_user(int sig, siginfo_t *info, void *context)
{
	char here;
	(void)context;
	users += info->si_pid == getpid();
	on_alternate += &here > alternate && &here < alternate + sizeof(alternate);
	if (sig == SIGUSR1 && nested++ == 0)
		raise(SIGUSR2);
}

static void install(int sig, void (*plain)(int), void (*full)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa;
	memset(&sa, 0, sizeof(sa));
	if (full)
		sa.sa_sigaction = full;
	else
		sa.sa_handler = plain;
	sa.sa_flags = flags;
	if (sigaction(sig, &sa, NULL))
		abort();
}

int main(void)
{
	struct itimerval every = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	sigset_t block, before;
	char c;
	if (pipe(pipe_fd) || sigaltstack(&stack, NULL))
		return 1;

	/* the read goes on after two alarms and ends with what the third handler wrote */
	install(SIGALRM, on_alarm, NULL, SA_RESTART);
	setitimer(ITIMER_REAL, &every, NULL);
	if (read(pipe_fd[0], &c, 1) != 1)
		return 2;
	setitimer(ITIMER_REAL, &off, NULL);

	/* without SA_RESTART it is interrupted */
	install(SIGALRM, on_alarm, NULL, 0);
	alarms = 10;
	setitimer(ITIMER_REAL, &every, NULL);
	if (read(pipe_fd[0], &c, 1) != -1 || errno != EINTR)
		return 3;
	setitimer(ITIMER_REAL, &off, NULL);

	/* blocked signals wait for sigsuspend */
	install(SIGUSR1, NULL, on_user, SA_SIGINFO | SA_ONSTACK);
	install(SIGUSR2, NULL, on_user, SA_SIGINFO);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, &before);
	raise(SIGUSR1);
	if (users)
		return 4;
	if (sigsuspend(&before) != -1 || errno != EINTR || users != 2)
		return 5;
	raise(SIGUSR1); /* still blocked: sigsuspend put the mask back */
	if (users != 2)
		return 6;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (users != 3)
		return 7;
	printf("alarms %d users %d nested %d alternate %d\n", alarms >= 11, users, nested, on_alternate > 0);
	return 0;
}
