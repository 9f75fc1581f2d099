/* Signals that are faults when the processor raises them, and like any other when somebody sends them. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
static volatile sig_atomic_t heard, code;
static volatile int computing;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	heard = sig;
	code = info->si_code;
}

static void install(int sig, void (*plain)(int))
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO};
	sa.sa_sigaction = handler;
	if (plain) {
		sa.sa_handler = plain;
		sa.sa_flags = 0;
	}
	sigaction(sig, &sa, NULL);
}

static void say(const char *how, int sig)
{
	printf("%s %d: heard %d, code %d\n", how, sig, (int)heard, (int)code);
	heard = code = 0;
}

static void *computes(void *sig)
{
	computing = 1;
	while (!heard)
		;
	say("computing", *(int *)sig);
	return NULL;
}

static void to_thread(int sig)
{
	int arg = sig;
	pthread_t t;
	computing = 0;
	pthread_create(&t, NULL, computes, &arg);
	while (!computing)
		sched_yield();
	pthread_kill(t, sig);
	pthread_join(t, NULL);
}

static void blocked(int sig)
{
	const struct timespec at_once = {0};
	siginfo_t info;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(sig);
	say("blocked", sig);
	printf("taken: %d\n", sigtimedwait(&set, &info, &at_once));
	kill(getpid(), sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	say("let in", sig);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const int sig = numbers[i];
		install(sig, SIG_IGN);
		raise(sig);
		say("ignored", sig);
		install(sig, NULL);
		raise(sig);
		say("raised", sig);
		kill(getpid(), sig);
		say("sent", sig);
		sigqueue(getpid(), sig, (union sigval){.sival_int = 7});
		say("queued", sig);
		blocked(sig);
		to_thread(sig);
	}
	return 0;
}
