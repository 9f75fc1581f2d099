/* pipe(7): a write without readers raises SIGPIPE in the writing thread, then fails with EPIPE. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int fds[2];

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d code %d first thread %d\n", sig, info->si_code, gettid() == getpid());
}

static void *writes(void *arg)
{
	SAY(write(fds[1], "x", 1));
	return arg;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct iovec part = {(void *)"abc", 3};
	int pair[2], status;
	pthread_t thread;
	pid_t child;

	MUST(!pipe(fds) && !sigaction(SIGPIPE, &action, NULL));
	close(fds[0]);
	SAY(write(fds[1], "x", 1));
	SAY(writev(fds[1], &part, 1));
	SAY(write(fds[1], "x", 0));
	MUST(!pthread_create(&thread, NULL, writes, NULL) && !pthread_join(thread, NULL));
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	close(pair[0]);
	SAY(send(pair[1], "x", 1, 0));
	SAY(send(pair[1], "x", 1, MSG_NOSIGNAL));
	signal(SIGPIPE, SIG_IGN);
	SAY(write(fds[1], "x", 1));
	signal(SIGPIPE, SIG_DFL);
	child = fork();
	if (!child) {
		SAY(write(fds[1], "x", 1));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
	return 0;
}
