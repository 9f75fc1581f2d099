/* fcntl(2): F_SETLEASE: which leases can be had; an open by another breaks one with a signal. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t broken, of;

static void handler(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	broken++;
	of = info->si_fd;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t signals, before;
	int fd, other, status;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !sigaction(SIGUSR1, &action, NULL));
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, &before);
	SAY(fcntl(fd, F_SETLEASE, F_RDLCK));
	SAY(fcntl(fd, F_SETLEASE, F_WRLCK));
	SAY(fcntl(fd, F_GETLEASE) == F_WRLCK);
	SAY(fcntl(fd, F_SETLEASE, F_UNLCK));
	SAY(fcntl(fd, F_GETLEASE) == F_UNLCK);
	SAY(fcntl(fd, F_SETLEASE, F_UNLCK));
	SAY(fcntl(fd, F_SETLEASE, 9));
	MUST((other = open("file", O_RDONLY)) >= 0);
	SAY(fcntl(fd, F_SETLEASE, F_WRLCK));
	SAY(close(other));
	SAY(fcntl(fd, F_SETSIG, SIGUSR1));
	SAY(fcntl(fd, F_SETLEASE, F_WRLCK));
	pid_t child = fork();
	if (!child) {
		int refused = open("file", O_RDONLY | O_NONBLOCK) < 0 && errno == EAGAIN;
		/* waits until the lease is given up */
		_exit(refused && open("file", O_RDONLY) >= 0 ? 3 : 4);
	}
	while (!broken)
		sigsuspend(&before);
	printf("broken, of its descriptor: %d\n", of == fd);
	SAY(fcntl(fd, F_GETLEASE) == F_RDLCK);
	SAY(fcntl(fd, F_SETLEASE, F_UNLCK));
	MUST(waitpid(child, &status, 0) == child);
	SAY(WEXITSTATUS(status));
	return 0;
}
