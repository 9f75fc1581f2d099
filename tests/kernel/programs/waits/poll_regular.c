/* poll(2): regular files, directories and /dev/null are always ready; epoll refuses them. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/select.h>

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0), notify = inotify_init1(IN_NONBLOCK);
	struct pollfd set[4] = {{open("file", O_RDWR | O_CREAT, 0600), POLLIN | POLLOUT | POLLPRI, 0},
				{open(".", O_RDONLY), POLLIN | POLLOUT, 0},
				{open("/dev/null", O_RDWR), POLLIN | POLLOUT, 0},
				{notify, POLLIN, 0}};

	SAY(poll(set, 4, -1));
	for (int i = 0; i < 4; i++)
		printf("%x\n", set[i].revents);
	for (int i = 0; i < 4; i++)
		SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, set[i].fd, &event));
	MUST(inotify_add_watch(notify, ".", IN_CREATE) >= 0);
	close(open("another", O_CREAT | O_WRONLY, 0600));
	SAY(poll(&set[3], 1, -1));
	SAY(epoll_wait(epoll, &event, 1, -1));
	return 0;
}
