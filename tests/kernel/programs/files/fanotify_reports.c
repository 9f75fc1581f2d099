/* fanotify(7): events have a descriptor of the file or its handle; which groups can be made. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/fanotify.h>
#include <sys/stat.h>

int main(void)
{
	char buffer[4096] __attribute__((aligned(8))), path[64], target[4096];
	struct fanotify_event_metadata *event = (void *)buffer;
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		skip("fanotify");
	SAY(fanotify_init(0x80000000, 0));
	MUST(!mkdir("d", 0700));
	SAY(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN | FAN_CLOSE | FAN_MODIFY | FAN_EVENT_ON_CHILD, AT_FDCWD, "d"));
	SAY(fanotify_mark(fd, FAN_MARK_ADD, FAN_CREATE, AT_FDCWD, "d"));
	SAY(fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_REMOVE, FAN_OPEN, AT_FDCWD, "d"));
	SAY(fanotify_mark(fd, FAN_MARK_REMOVE, FAN_OPEN, AT_FDCWD, "/"));
	SAY(read(fd, buffer, sizeof buffer));
	int file = open("d/file", O_CREAT | O_RDWR, 0600);
	MUST(file >= 0 && write(file, "hello", 5) == 5 && !close(file));
	ssize_t length = read(fd, buffer, sizeof buffer);
	for (; FAN_EVENT_OK(event, length); event = FAN_EVENT_NEXT(event, length)) {
		printf("mask %llx, own: %d, ", (unsigned long long)event->mask, event->pid == getpid());
		snprintf(path, sizeof path, "/proc/self/fd/%d", event->fd);
		ssize_t n = readlink(path, target, sizeof target - 1);
		MUST(n > 0);
		target[n] = 0;
		printf("%s, cloexec %d, ", strrchr(target, '/'), fcntl(event->fd, F_GETFD));
		printf("%zd bytes\n", read(event->fd, target, sizeof target));
		close(event->fd);
	}
	SAY(close(fd));
	return 0;
}
