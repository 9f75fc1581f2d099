/* connect(2): a non-blocking connect is in progress, writable when done; refused, repeated, and undone by AF_UNSPEC. */
#include "inet.h"
#include <poll.h>

static int finish(int fd)
{
	struct pollfd one = {fd, POLLOUT, 0};
	socklen_t length = sizeof(int);
	int error = -1;

	SAY(poll(&one, 1, -1));
	MUST(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length));
	printf("events %x error %s\n", one.revents, error ? strerrorname_np(error) : "0");
	return error;
}

int main(void)
{
	struct sockaddr_in name, gone;
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	int listener = bound(SOCK_STREAM, &name), fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), dead;
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = sizeof gone;

	MUST(!listen(listener, 1));
	dead = bound(SOCK_STREAM, &gone);
	MUST(!close(dead));
	SAY(connect(fd, (void *)&name, sizeof name));
	finish(fd);
	SAY(connect(fd, (void *)&name, sizeof name) == 0 || errno == EISCONN);
	SAY(connect(fd, (void *)&name, sizeof name));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (connect(fd, (void *)&gone, sizeof gone) && errno == EINPROGRESS)
		finish(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	SAY(connect(fd, (void *)&gone, sizeof gone));
	SAY(connect(fd, (void *)&name, 3));
	name.sin_family = 99;
	SAY(connect(fd, (void *)&name, sizeof name));
	name.sin_family = AF_INET;
	SAY(connect(udp, (void *)&name, sizeof name));
	SAY(getpeername(udp, (void *)&gone, &length));
	printf("same port %d\n", gone.sin_port == name.sin_port);
	SAY(connect(udp, &nowhere, sizeof nowhere));
	SAY(getpeername(udp, (void *)&gone, &length));
	SAY(accept(udp, NULL, NULL));
	SAY(listen(udp, 1));
	SAY(accept(fd, NULL, NULL));
	return 0;
}
