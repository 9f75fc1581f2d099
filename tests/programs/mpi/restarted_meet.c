/* Two ranks that meet again: by a port, and over a socket of their own; messages under way on both.  A restart at any
 * event prints the same sums. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "check.h"

enum { STEPS = 8, BEHIND = 2 };

static unsigned long sum;

static void add(long value)
{
	sum = sum * 31 + (unsigned long)value;
}

static void hear(MPI_Comm inter)
{
	long got = 0;

	OK(MPI_Recv(&got, 1, MPI_LONG, 0, 1, inter, MPI_STATUS_IGNORE));
	add(got);
}

static void talk(MPI_Comm inter)
{
	MPI_Comm all;

	OK(MPI_Intercomm_merge(inter, rank, &all));
	for (int n = 0; n < STEPS; n++) {
		long mine = n * 10 + rank, both;

		OK(MPI_Send(&mine, 1, MPI_LONG, 0, 1, inter));
		if (n >= BEHIND)
			hear(inter);
		OK(MPI_Allreduce(&mine, &both, 1, MPI_LONG, MPI_SUM, all));
		add(both);
	}
	for (int late = 0; late < BEHIND; late++)
		hear(inter);
	OK(MPI_Comm_free(&all));
}

static void by_port(MPI_Comm *inter)
{
	char port[MPI_MAX_PORT_NAME];

	if (rank == 0) {
		OK(MPI_Open_port(MPI_INFO_NULL, port));
		OK(MPI_Send(port, sizeof(port), MPI_CHAR, 1, 3, MPI_COMM_WORLD));
		OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter));
		OK(MPI_Close_port(port));
	} else {
		OK(MPI_Recv(port, sizeof(port), MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter));
	}
}

static void by_socket(MPI_Comm *inter)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0), end = fd;

	if (rank == 0) {
		CHECK(!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, 1));
		CHECK(!getsockname(fd, (struct sockaddr *)&address, &length));
		OK(MPI_Send(&address.sin_port, 1, MPI_SHORT, 1, 9, MPI_COMM_WORLD));
		end = accept(fd, NULL, NULL);
		CHECK(end >= 0);
	} else {
		OK(MPI_Recv(&address.sin_port, 1, MPI_SHORT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		CHECK(!connect(fd, (struct sockaddr *)&address, length));
	}
	OK(MPI_Comm_join(end, inter));
	close(end);
	if (end != fd)
		close(fd);
}

int main(int argc, char **argv)
{
	MPI_Comm first, second;

	begin(&argc, &argv);
	by_port(&first);
	talk(first);
	by_socket(&second);
	talk(second);
	talk(first);
	OK(MPI_Comm_disconnect(&second));
	OK(MPI_Comm_disconnect(&first));
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	return MPI_Finalize();
}
