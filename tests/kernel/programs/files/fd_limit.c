/* getrlimit(2): RLIMIT_NOFILE is one above the highest descriptor that calls give; descriptors above it stay open. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

int main(void)
{
	struct rlimit limit;
	struct pollfd polled[40] = {{.fd = -1}};
	int two[2], fd;

	MUST(dup2(0, 60) == 60);
	MUST(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 20;
	SAY(setrlimit(RLIMIT_NOFILE, &limit));
	while ((fd = dup(0)) >= 0)
		if (fd > 16)
			printf("%d\n", fd);
	SAY(dup(0));
	SAY(open("/dev/null", O_RDONLY));
	SAY(socket(AF_UNIX, SOCK_STREAM, 0));
	SAY(dup2(0, 19));
	SAY(dup2(0, 20));
	SAY(fcntl(0, F_DUPFD, 20));
	SAY(fcntl(0, F_DUPFD, 19));
	SAY(pipe(two));
	SAY(close(7));
	SAY(pipe(two));
	SAY(dup(0));
	SAY(fcntl(60, F_GETFD));
	SAY(poll(polled, 20, 0));
	SAY(poll(polled, 21, 0));
	SAY(sysconf(_SC_OPEN_MAX));
	limit.rlim_cur = limit.rlim_max;
	SAY(setrlimit(RLIMIT_NOFILE, &limit));
	SAY(dup(0));
	return 0;
}
