/* Signals that are ignored by default, or stop: blocked they wait; SIGCHLD and its flags. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t came;

static void on_signal(int sig)
{
	came += sig;
}

static int pending(int sig)
{
	sigset_t set;
	sigpending(&set);
	return sigismember(&set, sig);
}

static void child_ended(void)
{
	siginfo_t how;
	const pid_t pid = fork();
	if (!pid)
		_exit(3);
	waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT);
}

static void *waits(void *set)
{
	int sig = 0;
	sigwait(set, &sig);
	return (void *)(long)sig;
}

static void block(int how, int sig)
{
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, sig);
	pthread_sigmask(how, &one, NULL);
}

int main(void)
{
	const int all[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGRTMIN};
	const struct timespec now = {0};
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const int sig = all[i];
		sigset_t one;
		sigemptyset(&one);
		sigaddset(&one, sig);
		block(SIG_BLOCK, sig);
		raise(sig);
		kill(getpid(), sig);
		printf("%d: %d", sig, pending(sig));
		printf(" %d", sigtimedwait(&one, NULL, &now) == sig);
		while (sigtimedwait(&one, NULL, &now) == sig)
			;
		kill(getpid(), sig);
		signal(sig, on_signal);
		printf(" %d", pending(sig));
		block(SIG_UNBLOCK, sig);
		printf(" came %d", (int)came);
		block(SIG_BLOCK, sig);
		kill(getpid(), sig);
		signal(sig, SIG_IGN);
		printf(" %d", pending(sig));
		kill(getpid(), sig);
		printf(" %d", pending(sig));
		block(SIG_UNBLOCK, sig);
		signal(sig, on_signal);
		printf(" came %d\n", (int)came);
		signal(sig, SIG_DFL);
	}
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	block(SIG_BLOCK, SIGCHLD);
	child_ended();
	siginfo_t info;
	printf("pending %d, ", pending(SIGCHLD));
	printf("taken %d", sigwaitinfo(&set, &info));
	printf(" status %d\n", info.si_status);
	pthread_t thread;
	void *got;
	pthread_create(&thread, NULL, waits, &set);
	child_ended();
	pthread_join(thread, &got);
	printf("a thread got %ld\n", (long)got);
	while (wait(NULL) > 0)
		;
	signal(SIGCHLD, SIG_IGN);
	if (!fork())
		_exit(0);
	printf("ignored: wait %d", wait(NULL));
	printf(" %s, pending %d\n", strerror(errno), pending(SIGCHLD));
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT}, NULL);
	if (!fork())
		_exit(0);
	printf("SA_NOCLDWAIT: wait %d", wait(NULL));
	printf(" %s\n", strerror(errno));
	came = 0;
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_NOCLDSTOP}, NULL);
	block(SIG_UNBLOCK, SIGCHLD);
	came = 0;
	const pid_t pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	printf("stopped: came %d\n", (int)came);
	kill(pid, SIGCONT);
	while (waitpid(pid, NULL, 0) < 0)
		;
	printf("ended: came %d\n", (int)came);
	return 0;
}
