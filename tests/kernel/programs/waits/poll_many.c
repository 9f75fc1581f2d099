/* poll(2): a thousand descriptors, the same one several times, and RLIMIT_NOFILE as the limit of their number. */
#include "../observe.h"
#include <poll.h>
#include <sys/resource.h>

int main(void)
{
	static struct pollfd set[1000];
	struct rlimit limit;
	int fds[2], ready = 0;

	MUST(!pipe(fds) && write(fds[1], "x", 1) == 1);
	for (int i = 0; i < 1000; i++)
		set[i] = (struct pollfd){i % 3 ? fds[0] : -1, (short)(i % 2 ? POLLIN : POLLOUT), 0};
	SAY(poll(set, 1000, 0));
	for (int i = 0; i < 1000; i++)
		ready += set[i].revents == POLLIN;
	printf("ready %d\n", ready);
	MUST(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 900;
	MUST(!setrlimit(RLIMIT_NOFILE, &limit));
	SAY(poll(set, 900, 0));
	SAY(poll(set, 901, 0));
	return 0;
}
