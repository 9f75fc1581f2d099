/* proc_pid_fdinfo(5): position, flags, and what eventfd, epoll, inotify, signalfd and locks add. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>

static void show(const char *what, int fd)
{
	char path[64], line[256];

	MUST(fd >= 0);
	printf("%s\n", what);
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	FILE *file = fopen(path, "r");
	MUST(file);
	while (fgets(line, sizeof line, file)) {
		if (!strncmp(line, "mnt_id", 6) || !strncmp(line, "ino:", 4) || !strncmp(line, "eventfd-id", 10))
			continue;
		if (!strncmp(line, "lock:", 5)) {
			char kind[16], how[16], mode[16];
			MUST(sscanf(line, "lock: %*s %15s %15s %15s", kind, how, mode) == 3);
			snprintf(line, sizeof line, "lock: %s %s %s\n", kind, how, mode);
		}
		for (const char *name = " ino:"; (name = strstr(line, name));) {
			line[name - line] = '\n';
			line[name - line + 1] = 0;
			break;
		}
		printf("  %s", line);
	}
	fclose(file);
}

int main(void)
{
	sigset_t set;
	int fd, ep, in, event;
	struct epoll_event wanted = {.events = EPOLLIN | EPOLLET, .data.u64 = 77};

	MUST((fd = open("file", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600)) >= 0);
	MUST(write(fd, "twelve bytes", 12) == 12 && !flock(fd, LOCK_EX));
	struct flock lock = {.l_type = F_WRLCK, .l_start = 3, .l_len = 5};
	MUST(!fcntl(fd, F_SETLK, &lock));
	show("file", fd);
	show("eventfd", event = eventfd(0x1f, EFD_NONBLOCK));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 2);
	show("signalfd", signalfd(-1, &set, SFD_CLOEXEC));
	MUST(dup2(event, 100) == 100 && (ep = epoll_create1(0)) >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, 100, &wanted));
	show("epoll", ep);
	MUST((in = inotify_init1(IN_NONBLOCK)) >= 0 && inotify_add_watch(in, ".", IN_CREATE) == 1);
	show("inotify", in);
	return 0;
}
