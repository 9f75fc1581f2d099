/* tcp(7): urgent data with SIOCATMARK, SO_OOBINLINE, POLLPRI and SIGURG. */
#include "inet.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

static volatile sig_atomic_t urgent;

static void handler(int sig)
{
	(void)sig;
	urgent++;
}

int main(void)
{
	int pair[2], mark, on = 1;
	char some[8] = "";
	struct pollfd one;

	tcp_pair(pair);
	signal(SIGURG, handler);
	SAY(fcntl(pair[1], F_SETOWN, getpid()));
	SAY(send(pair[0], "ab", 2, 0));
	SAY(send(pair[0], "U", 1, MSG_OOB));
	SAY(send(pair[0], "cd", 2, 0));
	one = (struct pollfd){pair[1], POLLPRI, 0};
	SAY(poll(&one, 1, -1));
	printf("%x urgent %d\n", one.revents, urgent);
	one.events = POLLIN;
	SAY(ioctl(pair[1], SIOCATMARK, &mark));
	printf("mark %d\n", mark);
	SAY(recv(pair[1], some, 8, 0));
	SAY(ioctl(pair[1], SIOCATMARK, &mark));
	printf("%.2s mark %d\n", some, mark);
	SAY(recv(pair[1], some, 1, MSG_OOB));
	printf("%c\n", some[0]);
	SAY(recv(pair[1], some, 1, MSG_OOB));
	SAY(recv(pair[1], some, 2, MSG_WAITALL));
	printf("%.2s\n", some);
	SAY(setsockopt(pair[1], SOL_SOCKET, SO_OOBINLINE, &on, sizeof on));
	SAY(send(pair[0], "eV", 2, MSG_OOB));
	SAY(recv(pair[1], some, 1, MSG_WAITALL));
	SAY(ioctl(pair[1], SIOCATMARK, &mark));
	printf("mark %d\n", mark);
	SAY(recv(pair[1], some, 1, MSG_OOB));
	SAY(recv(pair[1], some, 8, 0));
	printf("%c\n", some[0]);
	return 0;
}
