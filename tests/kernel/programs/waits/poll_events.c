/* poll(2): POLLHUP, POLLERR and POLLNVAL come unasked; negative descriptors are left out. */
#include "../observe.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static void show(struct pollfd *set, nfds_t count, int time_out)
{
	SAY(poll(set, count, time_out));
	for (nfds_t i = 0; i < count; i++)
		printf(" %x", set[i].revents);
	printf("\n");
}

int main(void)
{
	int in[2], out[2], pair[2];
	struct pollfd set[4];

	MUST(!pipe(in) && !pipe(out) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	close(in[1]);
	close(out[0]);
	set[0] = (struct pollfd){in[0], 0, 99};
	set[1] = (struct pollfd){out[1], POLLOUT, 99};
	set[2] = (struct pollfd){-7, POLLIN, 99};
	set[3] = (struct pollfd){500, POLLIN, 99};
	show(set, 4, 0);
	show(set, 4, -1);
	set[0] = (struct pollfd){pair[0], POLLIN | POLLOUT | POLLRDHUP | POLLPRI, 0};
	show(set, 1, 0);
	MUST(write(pair[1], "x", 1) == 1);
	show(set, 1, 0);
	SAY(shutdown(pair[1], SHUT_WR));
	show(set, 1, 0);
	close(pair[1]);
	show(set, 1, 0);
	SAY(poll(NULL, 0, 5));
	SAY(syscall(SYS_poll, 8, 1, 0));
	SAY(syscall(SYS_poll, set, 1u << 30, 0));
	return 0;
}
