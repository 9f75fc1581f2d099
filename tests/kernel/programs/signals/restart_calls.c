/* signal(7): with SA_RESTART some calls go on after a handler; without it all of them fail with EINTR. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

static const struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}};
static int restarts, handled, pair[2], pipes[2], full[2], locked, listener;

/* At the second alarm what the call waits for happens. */
static void handler(int sig)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t length = sizeof name;
	static char much[65536];
	int reason = errno;

	(void)sig;
	if (++handled == 2 && restarts) {
		MUST(write(pipes[1], "x", 1) == 1 && send(pair[1], "y", 1, 0) == 1);
		MUST(read(full[0], much, sizeof much) > 0);
		MUST(!flock(locked, LOCK_UN));
		MUST(!getsockname(listener, (void *)&name, &length));
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		MUST(!connect(fd, (void *)&name, length));
	}
	errno = reason;
}

static void try(const char *name, int flags, int call)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	struct iovec part;
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	static char big[4096];
	char c;
	long result;
	int other;

	part = (struct iovec){&c, 1};
	MUST(!pipe(pipes) && !pipe(full) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	fcntl(full[1], F_SETFL, O_NONBLOCK);
	while (write(full[1], big, sizeof big) > 0)
		;
	fcntl(full[1], F_SETFL, 0);
	locked = open("lock", O_RDWR | O_CREAT, 0600);
	other = open("lock", O_RDWR);
	MUST(!flock(locked, LOCK_EX));
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(!bind(listener, (void *)&any, sizeof any.sun_family) && !listen(listener, 5));
	handled = 0;
	restarts = flags;
	MUST(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	errno = 0;
	switch (call) {
	case 0: result = read(pipes[0], &c, 1); break;
	case 1: result = readv(pipes[0], &part, 1); break;
	case 2: result = write(full[1], big, sizeof big); break;
	case 3: result = recv(pair[0], &c, 1, 0); break;
	case 4: result = recvmsg(pair[0], &message, 0); break;
	case 5: result = flock(other, LOCK_EX); break;
	default: result = accept(listener, NULL, NULL) >= 0 ? 0 : -1;
	}
	int reason = errno;
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	printf("%s: %ld %s%s\n", name, result, strerrorname_np(reason), flags && handled >= 2 ? " after two" : "");
	close(pipes[0]), close(pipes[1]), close(full[0]), close(full[1]), close(pair[0]), close(pair[1]);
	close(locked), close(other), close(listener);
}

int main(void)
{
	static const char *const names[] = {"read", "readv", "write", "recv", "recvmsg", "flock", "accept"};

	for (int call = 0; call < 7; call++) {
		try(names[call], 0, call);
		try(names[call], SA_RESTART, call);
	}
	return 0;
}
