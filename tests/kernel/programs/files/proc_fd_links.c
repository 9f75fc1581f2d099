/* proc(5): what the links of /proc/self/fd say about each kind of descriptor. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static void show(const char *what, int fd)
{
	char path[64], target[256] = "";

	MUST(fd >= 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	MUST(readlink(path, target, sizeof target - 1) > 0);
	char *number = strchr(target, '[');
	if (number && number[1] >= '0' && number[1] <= '9')
		*number = 0; /* the number of the inode */
	printf("%s: %s\n", what, *target == '/' && strrchr(target, '/') != target ? strrchr(target, '/') : target);
}

int main(void)
{
	sigset_t none;
	int two[2], fd, count = 0;
	struct dirent *entry;
	DIR *list;

	sigemptyset(&none);
	MUST(!pipe(two));
	show("pipe", two[0]);
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, two));
	show("socket", two[0]);
	show("eventfd", eventfd(0, 0));
	show("timerfd", timerfd_create(CLOCK_MONOTONIC, 0));
	show("epoll", epoll_create1(0));
	show("inotify", inotify_init1(0));
	show("signalfd", signalfd(-1, &none, 0));
	show("memfd", memfd_create("my name", 0));
	show("device", open("/dev/null", O_RDONLY));
	show("file", fd = open("file", O_CREAT | O_RDWR, 0600));
	MUST(!rename("file", "renamed"));
	show("renamed", fd);
	MUST(!unlink("renamed"));
	show("unlinked", fd);
	show("folder", fd = open(".", O_RDONLY | O_DIRECTORY));
	show("limits", open("/proc/self/limits", O_RDONLY));
	SAY(access("/proc/self/fd/4711", F_OK));
	list = opendir("/proc/self/fd");
	MUST(list);
	while ((entry = readdir(list)))
		count += entry->d_name[0] != '.';
	printf("%d descriptors\n", count);
	return 0;
}
