/* Ranks with sockets between them, in each of which bytes are under way while it waits for a file: argv: gate. */
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BYTES = 50000 };

static int rank, failed;

static void must(int good, const char *what)
{
	if (!good) {
		printf("rank %d: %s\n", rank, what);
		fflush(stdout);
		failed = 1;
	}
}

static unsigned char at(int from, int i)
{
	return i * 5 + i / 253 + from * 17;
}

static void put(int fd, int from, int start, int n)
{
	static unsigned char bytes[BYTES];
	for (int i = 0; i < n; i++)
		bytes[i] = at(from, start + i);
	must(send(fd, bytes, n, 0) == n, "a short send");
}

static void get(int fd, int from, int start, int n)
{
	static unsigned char bytes[BYTES];
	must(recv(fd, bytes, n, MSG_WAITALL) == n, "a short read");
	for (int i = 0; i < n; i++)
		if (bytes[i] != at(from, start + i)) {
			must(0, "other bytes than were sent");
			return;
		}
}

/* A connection of the two ranks. */
static int meet(int family)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "door"};
	void *address = family == AF_INET ? (void *)&in : (void *)&un;
	socklen_t len = family == AF_INET ? sizeof(in) : sizeof(un);
	int s = socket(family, SOCK_STREAM, 0);
	if (rank == 0) {
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &len, sizeof(len));
		unlink(un.sun_path);
		must(!bind(s, address, len) && !listen(s, 3), "no listener");
		getsockname(s, address, &len);
	}
	MPI_Bcast(&in, sizeof(in), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (rank == 0)
		return accept(s, NULL, NULL); /* the listener stays open */
	must(!connect(s, address, len), "no connection");
	return s;
}

int main(int argc, char **argv)
{
	int pair[2], one = 1, value = 0, size;
	socklen_t len = sizeof(value);
	char word[9] = "";
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int tcp = meet(AF_INET), local = meet(AF_UNIX), other = !rank, set = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77}, got = {0};
	setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	epoll_ctl(set, EPOLL_CTL_ADD, tcp, &event);
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "no pair");
	put(tcp, rank, 0, BYTES);
	put(local, rank, 0, BYTES);
	get(tcp, other, 0, 1000); /* so much of it is read */
	get(local, other, 0, 2000);
	if (rank == 1)
		shutdown(local, SHUT_WR);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		puts("half");
		fflush(stdout);
	}
	while (access(argv[1], F_OK))
		usleep(1000);
	must(epoll_wait(set, &got, 1, 0) == 1 && got.data.u64 == 77, "its epoll does not know of the bytes");
	getsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &value, &len);
	must(value, "an option is lost");
	get(tcp, other, 1000, BYTES - 1000);
	get(local, other, 2000, BYTES - 2000);
	if (rank == 0) {
		must(recv(local, word, 1, 0) == 0, "no end of what came");
		put(local, rank, BYTES, 100);
	} else {
		get(local, other, BYTES, 100);
	}
	put(tcp, rank, BYTES, 5000);
	get(tcp, other, BYTES, 5000);
	must(send(pair[0], "message", 8, 0) == 8 && recv(pair[1], word, 9, 0) == 8, "the pair is none");
	MPI_Barrier(MPI_COMM_WORLD);
	printf("rank %d all there %d\n", rank, !failed);
	MPI_Finalize();
	return failed;
}
