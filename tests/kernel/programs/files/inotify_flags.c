/* inotify_add_watch(2): IN_ONESHOT, IN_MASK_ADD, IN_MASK_CREATE, IN_ONLYDIR, IN_DONT_FOLLOW; short buffers; FIONREAD. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

int main(void)
{
	char buffer[512] __attribute__((aligned(8)));
	struct inotify_event *event = (void *)buffer;
	int in, ready = 0;

	MUST(!mkdir("d", 0700) && !symlink("d", "link") && !close(open("file", O_CREAT | O_WRONLY, 0600)));
	MUST((in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) >= 0);
	SAY(read(in, buffer, sizeof buffer));
	SAY(inotify_add_watch(in, "file", IN_OPEN | IN_ONLYDIR));
	SAY(inotify_add_watch(in, "d", IN_CREATE));
	SAY(inotify_add_watch(in, "link", IN_DELETE | IN_MASK_ADD)); /* the same inode */
	SAY(inotify_add_watch(in, "d", IN_OPEN | IN_MASK_CREATE));
	SAY(inotify_add_watch(in, "link", IN_ATTRIB | IN_DONT_FOLLOW));
	SAY(inotify_add_watch(in, "file", IN_OPEN | IN_ONESHOT));
	SAY(inotify_add_watch(in, "file", 0));
	SAY(inotify_add_watch(in, "absent", IN_OPEN));
	SAY(inotify_add_watch(0, "d", IN_OPEN));
	MUST(!mkdir("d/a long name that needs more room", 0700) && !rmdir("d/a long name that needs more room"));
	MUST(!ioctl(in, FIONREAD, &ready));
	SAY(ready);
	SAY(read(in, buffer, 20));
	SAY(read(in, buffer, (size_t)ready / 2));
	printf("%d %x %s\n", event->wd, event->mask, event->name);
	SAY(read(in, buffer, sizeof buffer));
	printf("%d %x %s\n", event->wd, event->mask, event->name);
	MUST(!close(open("file", O_RDONLY)) && !close(open("file", O_RDONLY)));
	SAY(read(in, buffer, sizeof buffer));
	printf("%d %x, %d %x\n", event->wd, event->mask, event[1].wd, event[1].mask);
	struct pollfd polled = {in, POLLIN, 0};
	SAY(poll(&polled, 1, 0));
	SAY(inotify_rm_watch(in, 1));
	SAY(poll(&polled, 1, 0));
	SAY(read(in, buffer, sizeof buffer));
	printf("%d %x\n", event->wd, event->mask);
	SAY(inotify_rm_watch(in, 1));
	SAY(inotify_rm_watch(0, 1));
	SAY(write(in, buffer, 16));
	SAY(inotify_init1(0x40000));
	return 0;
}
