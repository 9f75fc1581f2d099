/* Sockets on the loopback device. */
#pragma once
#include "../observe.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static inline struct sockaddr_in at_loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = (in_port_t)port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A socket at any port of the loopback device, and its address in NAME. */
static inline int bound(int type, struct sockaddr_in *name)
{
	socklen_t length = sizeof *name;
	int fd = socket(AF_INET, type, 0);

	*name = at_loopback(0);
	MUST(fd >= 0 && !bind(fd, (void *)name, sizeof *name));
	MUST(!getsockname(fd, (void *)name, &length));
	return fd;
}

/* A connection: PAIR[0] connected to PAIR[1]. */
static inline void tcp_pair(int pair[2])
{
	struct sockaddr_in name;
	int listener = bound(SOCK_STREAM, &name);

	MUST(!listen(listener, 1));
	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	MUST(pair[0] >= 0 && !connect(pair[0], (void *)&name, sizeof name));
	pair[1] = accept(listener, NULL, NULL);
	MUST(pair[1] >= 0);
	close(listener);
}
