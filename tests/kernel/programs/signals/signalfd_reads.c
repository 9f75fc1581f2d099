/* signalfd(2): a read takes as many pending signals as fit, with what they carry. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

int main(void)
{
	struct signalfd_siginfo got[3];
	sigset_t set;
	ssize_t length;
	int fd, again;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 2);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	MUST(fd >= 0);
	SAY(read(fd, got, sizeof got));
	for (int i = 0; i < 4; i++)
		MUST(!sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = i}));
	raise(SIGUSR1);
	struct pollfd one = {fd, POLLIN | POLLOUT, 0};
	SAY(poll(&one, 1, -1));
	printf("%x\n", one.revents);
	SAY(read(fd, got, sizeof *got - 1));
	while ((length = read(fd, got, sizeof got)) > 0)
		for (size_t i = 0; i < (size_t)length / sizeof *got; i++)
			printf("%u code %d int %d me %d\n", got[i].ssi_signo, got[i].ssi_code, got[i].ssi_int,
			       got[i].ssi_pid == (unsigned)getpid());
	SAY(length);
	sigdelset(&set, SIGUSR1);
	again = signalfd(fd, &set, 0);
	printf("same %d\n", again == fd);
	raise(SIGUSR1);
	SAY(read(fd, got, sizeof got));
	SAY(write(fd, got, sizeof got));
	SAY(lseek(fd, 0, SEEK_SET));
	SAY(signalfd(fd, &set, 0x10));
	SAY(signalfd(0, &set, 0));
	SAY(fcntl(fd, F_GETFD));
	return 0;
}
