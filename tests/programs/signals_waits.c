/* Every way to wait for a signal, and signals inside a computation. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int hits;

static void handler(int sig, siginfo_t *info, void *context)
{
	hits++;
}

static void *wait_for_usr1(void *arg)
{
	struct timespec timeout = {.tv_sec = 20};
	siginfo_t info;
	int sig = sigtimedwait(arg, &info, &timeout);
	printf("sigtimedwait %d, code %d\n", sig, info.si_code);
	return NULL;
}

static sigset_t one(int sig)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static void by_descriptor(void)
{
	sigset_t usr2 = one(SIGUSR2);
	struct signalfd_siginfo info = {0};
	int fd = signalfd(-1, &usr2, SFD_CLOEXEC);
	raise(SIGUSR2);
	ssize_t n = read(fd, &info, sizeof(info));
	printf("signalfd %zd, signal %u\n", n, info.ssi_signo);
	close(fd);
}

static void in_a_computation(void)
{
	struct itimerval timer = {{0, 3000}, {0, 3000}};
	volatile double x = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	while (hits < 20)
		x += 1.5;
	timer = (struct itimerval){0};
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("alarms %d\n", hits >= 20);
}

static void posix_timer(void)
{
	timer_t timer;
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	struct itimerspec in = {.it_value = {0, 5000000}};
	sigset_t rtmin = one(SIGRTMIN);
	int sig;
	timer_create(CLOCK_MONOTONIC, &how, &timer);
	timer_settime(timer, 0, &in, NULL);
	sigwait(&rtmin, &sig);
	printf("timer %d\n", sig == SIGRTMIN);
}

static void child(void)
{
	int status, before = hits;
	pid_t pid = fork();
	if (pid == 0)
		_exit(3);
	while (waitpid(pid, &status, 0) < 0)
		;
	printf("child %d, SIGCHLD %d\n", WEXITSTATUS(status), hits > before);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct timespec soon = {0, 10000000}, second = {.tv_sec = 20};
	struct pollfd nothing = {.fd = -1};
	sigset_t set = one(SIGUSR1), usr1 = set, none, pending;
	pthread_t thread;
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, wait_for_usr1, &usr1);
	kill(getpid(), SIGUSR1);
	pthread_join(thread, NULL);
	printf("nothing: %d\n", sigtimedwait(&usr1, NULL, &soon));
	by_descriptor();
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGCHLD, &action, NULL);
	in_a_computation();
	posix_timer();
	child();
	raise(SIGUSR1);
	sigpending(&pending);
	printf("pending %d\n", sigismember(&pending, SIGUSR1));
	signal(SIGUSR1, SIG_IGN); /* that is the end of it */
	sigaction(SIGUSR2, &action, NULL);
	int before = hits;
	raise(SIGUSR2);
	sigemptyset(&none);
	int result = ppoll(&nothing, 1, &second, &none);
	printf("ppoll %d, handled %d\n", result, hits - before);
	return 0;
}
