/* Signals that wait together: in which order their handlers run, and which discard each other (signal(7)). */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int used[] = {SIGHUP,  SIGINT,  SIGUSR1, SIGUSR2, SIGTERM, SIGSEGV, SIGILL,
			   SIGTRAP, SIGTSTP, SIGCONT, 34,      40,      64};
static volatile int order[100], count;
static sigset_t all, before;

static void handler(int sig)
{
	order[count++] = sig;
	getppid(); /* an event, at which no other handler may begin */
	order[count++] = -sig;
}

static void block(void)
{
	sigprocmask(SIG_BLOCK, &all, &before);
}

static void say(const char *what)
{
	printf("%s:", what);
	for (int i = 0; i < count; i++)
		printf(" %d", order[i]);
	printf("\n");
	count = 0;
}

static void let(const char *what)
{
	sigprocmask(SIG_SETMASK, &before, NULL);
	say(what);
}

static void handle(const sigset_t *mask)
{
	struct sigaction sa = {.sa_handler = handler, .sa_mask = *mask};
	for (unsigned i = 0; i < sizeof(used) / sizeof(*used); i++)
		sigaction(used[i], &sa, NULL);
}

static void pending(void)
{
	sigset_t set;
	sigpending(&set);
	for (int sig = SIGCONT; sig <= SIGTTOU; sig++)
		printf("%d", sigismember(&set, sig));
	printf(" ");
}

static void orders(void)
{
	block();
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGHUP);
	let("by number");
	block();
	raise(SIGUSR2);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGTERM);
	raise(SIGINT);
	let("of the thread and of the process");
	block();
	for (int i = 0; i < 2; i++)
		kill(getpid(), 40);
	kill(getpid(), SIGUSR1);
	kill(getpid(), 34);
	kill(getpid(), 64);
	let("real-time");
	block();
	kill(getpid(), SIGUSR1);
	raise(SIGSEGV);
	kill(getpid(), SIGTRAP);
	raise(SIGILL);
	let("of faults");
}

int main(void)
{
	sigset_t none;
	sigfillset(&all);
	sigemptyset(&none);
	handle(&none);
	orders();
	block();
	kill(getpid(), SIGUSR1);
	raise(SIGUSR2);
	sigsuspend(&none);
	say("sigsuspend");
	kill(getpid(), SIGUSR1);
	raise(SIGUSR2);
	ppoll(NULL, 0, NULL, &none);
	say("ppoll");
	static const int sent[] = {SIGTSTP, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
	for (unsigned i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		kill(getpid(), sent[i]);
		pending();
	}
	raise(SIGTSTP);
	signal(SIGCONT, SIG_IGN);
	kill(getpid(), SIGCONT);
	pending();
	let("job control");
	handle(&all);
	orders();
	return 0;
}
