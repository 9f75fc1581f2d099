/* fanotify(7): FAN_REPORT_FID: events carry file handles and names instead of descriptors. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/fanotify.h>
#include <sys/stat.h>

int main(void)
{
	char buffer[4096] __attribute__((aligned(8)));
	struct fanotify_event_metadata *event = (void *)buffer;
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_REPORT_DIR_FID | FAN_REPORT_NAME | FAN_NONBLOCK,
			       0);

	MUST(!mkdir("d", 0700));
	if (fd < 0 ||
	    fanotify_mark(fd, FAN_MARK_ADD, FAN_CREATE | FAN_DELETE | FAN_MOVED_TO | FAN_ONDIR, AT_FDCWD, "d"))
		skip("fanotify with handles");
	MUST(!close(open("d/file", O_CREAT | O_WRONLY, 0600)) && !rename("d/file", "d/moved") && !mkdir("d/sub", 0700));
	MUST(!unlink("d/moved"));
	SAY(read(fd, buffer, 30));
	ssize_t length = read(fd, buffer, sizeof buffer);
	for (; FAN_EVENT_OK(event, length); event = FAN_EVENT_NEXT(event, length)) {
		struct fanotify_event_info_fid *info = (void *)(event + 1);
		struct file_handle *handle = (void *)info->handle;
		printf("mask %llx, descriptor %d, kind %d, %s\n", (unsigned long long)event->mask, event->fd,
		       info->hdr.info_type, (char *)handle->f_handle + handle->handle_bytes);
	}
	SAY(fanotify_init(FAN_CLASS_CONTENT | FAN_REPORT_FID, 0));
	SAY(fanotify_mark(fd, FAN_MARK_FLUSH, 0, AT_FDCWD, "."));
	MUST(!rmdir("d/sub"));
	SAY(read(fd, buffer, sizeof buffer));
	return 0;
}
