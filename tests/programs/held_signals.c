/* held_signals GATE: signals of all kinds wait, blocked, until the file is there: for the process, for either of two threads, for
 * a signalfd; then it says what it gets, by sigtimedwait(2), by read(2) and by handlers.  signal(7), sigqueue(3). */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *gate;
static pthread_barrier_t all;
static char said[1 << 18];
static size_t len;

static void say(const char *how, const siginfo_t *i)
{
	const int sent = i->si_code <= 0;
	len += (size_t)snprintf(said + len, sizeof(said) - len, "%s %d code %d value %d own %d\n", how, i->si_signo,
				i->si_code, i->si_code == SI_QUEUE ? i->si_value.sival_int : 0,
				sent && i->si_pid == getpid());
}

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	say(syscall(SYS_gettid) == getpid() ? "main handles" : "thread handles", info);
}

static void wait_for_gate(void)
{
	while (access(gate, F_OK))
		usleep(1000);
}

static void drain(const char *how, const sigset_t *set, int most)
{
	const struct timespec at_once = {0};
	siginfo_t info;
	while (most-- && sigtimedwait(set, &info, &at_once) > 0)
		say(how, &info);
}

static sigset_t only(int a, int b)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, a);
	if (b)
		sigaddset(&set, b);
	return set;
}

static void *second(void *arg)
{
	sigset_t set = only(SIGRTMIN + 3, SIGUSR2), shared = only(SIGRTMIN + 2, 0), own = only(SIGRTMIN + 4, SIGPROF);
	pthread_barrier_wait(&all); /* they are sent */
	pthread_barrier_wait(&all);
	wait_for_gate();
	drain("thread", &set, -1);
	drain("thread", &shared, 2);
	pthread_sigmask(SIG_UNBLOCK, &own, NULL);
	pthread_barrier_wait(&all);
	return NULL;
}

static void queue_to(pthread_t t, int sig, int value)
{
	if (pthread_sigqueue(t, sig, (union sigval){.sival_int = value}))
		abort();
}

int main(int argc, char **argv)
{
	sigset_t most, read_set = only(SIGRTMIN + 5, SIGWINCH);
	struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	struct signalfd_siginfo s;
	pthread_t t;
	gate = argv[1];
	sigfillset(&most);
	sigdelset(&most, SIGINT);
	pthread_sigmask(SIG_SETMASK, &most, NULL);
	sigfillset(&a.sa_mask);
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (sig == SIGUSR1 || sig == SIGUSR2 || sig == SIGPROF || sig == SIGCHLD || sig >= SIGRTMIN)
			sigaction(sig, &a, NULL);
	const int fd = signalfd(-1, &read_set, SFD_NONBLOCK);
	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&t, NULL, second, NULL);
	pthread_barrier_wait(&all);
	for (int i = 0; i < 3; i++) {
		kill(getpid(), SIGUSR1);
		kill(getpid(), SIGWINCH);
		raise(SIGTERM); /* for this thread */
		pthread_kill(t, SIGUSR2);
		pthread_kill(t, SIGPROF);
		kill(getpid(), SIGRTMIN + 7);
	}
	for (int i = 0; i < 5; i++) {
		sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 200 + i});
		sigqueue(getpid(), SIGRTMIN + 5, (union sigval){.sival_int = 500 + i});
		sigqueue(getpid(), SIGRTMIN + 6, (union sigval){.sival_int = 600 + i});
		queue_to(t, SIGRTMIN + 3, 300 + i);
		queue_to(t, SIGRTMIN + 4, 400 + i);
		queue_to(pthread_self(), SIGRTMIN + 1, 100 + i);
	}
	for (int i = 0; i < 700; i++) /* more than a table of ours would hold */
		sigqueue(getpid(), SIGRTMAX, (union sigval){.sival_int = i});
	pthread_barrier_wait(&all);
	puts("waits");
	fflush(stdout);
	wait_for_gate();
	pthread_barrier_wait(&all);
	pthread_join(t, NULL);
	while (read(fd, &s, sizeof(s)) == sizeof(s)) {
		siginfo_t i = {.si_signo = (int)s.ssi_signo, .si_code = s.ssi_code};
		i.si_pid = (pid_t)s.ssi_pid;
		i.si_value.sival_int = s.ssi_int;
		say("read", &i);
	}
	sigset_t first = only(SIGTERM, SIGRTMIN + 2);
	drain("main", &first, -1);
	sigset_t handled = only(SIGRTMIN + 1, SIGRTMIN + 6);
	pthread_sigmask(SIG_UNBLOCK, &handled, NULL);
	drain("main", &most, -1);
	fputs(said, stdout);
	return 0;
}
