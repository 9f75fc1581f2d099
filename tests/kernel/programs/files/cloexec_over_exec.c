/* execve(2): descriptors with the close-on-exec flag are closed, others stay with their offsets and flags. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>

static int after(void)
{
	char text[8] = "";

	for (int fd = 30; fd < 46; fd++)
		printf("%d: %s\n", fd, fcntl(fd, F_GETFD) < 0 ? strerrorname_np(errno) : "open");
	SAY(lseek(30, 0, SEEK_CUR));
	SAY(fcntl(30, F_GETFL) & O_APPEND);
	SAY(pread(30, text, 7, 0));
	puts(text);
	return 0;
}

static void to(int fd, int number, int flag)
{
	MUST(fd >= 0 && dup3(fd, number, flag) == number);
	close(fd);
}

int main(int count, char **arguments)
{
	int two[2];

	if (count > 1)
		return after();
	to(open("file", O_CREAT | O_RDWR | O_APPEND, 0600), 30, 0);
	SAY(write(30, "offset", 6));
	to(open("file", O_RDONLY), 31, O_CLOEXEC);
	MUST(!pipe(two));
	to(two[0], 32, 0);
	to(two[1], 33, O_CLOEXEC);
	to(eventfd(0, 0), 34, 0);
	to(eventfd(0, 0), 35, O_CLOEXEC);
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, two));
	to(two[0], 36, 0);
	to(two[1], 37, O_CLOEXEC);
	to(epoll_create1(0), 38, 0);
	to(inotify_init1(0), 39, O_CLOEXEC);
	to(dup(30), 40, O_CLOEXEC);
	to(dup(31), 41, 0);
	fflush(stdout);
	execl("/proc/self/exe", arguments[0], "again", NULL);
	MUST(0);
}
