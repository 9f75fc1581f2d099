/* inotify(7): each kind of event, of a folder and of a file itself, in the order in which it happened. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

static int in;

static void show(const char *what)
{
	static const char *const names[] = {"ACCESS",      "MODIFY",     "ATTRIB",   "CLOSE_WRITE", "CLOSE_NOWRITE",
					    "OPEN",        "MOVED_FROM", "MOVED_TO", "CREATE",      "DELETE",
					    "DELETE_SELF", "MOVE_SELF",  "",         "UNMOUNT",     "OVERFLOW",
					    "IGNORED"};
	char buffer[4096] __attribute__((aligned(8)));
	ssize_t length = read(in, buffer, sizeof buffer);

	printf("%s:", what);
	for (ssize_t at = 0; at < length;) {
		struct inotify_event *event = (void *)(buffer + at);
		printf(" %d", event->wd);
		for (int i = 0; i < 16; i++)
			if (event->mask & (1u << i))
				printf(" %s", names[i]);
		printf("%s%s%s;", event->mask & IN_ISDIR ? " dir " : " ", event->len ? event->name : "",
		       event->cookie ? " cookie" : "");
		at += (ssize_t)(sizeof *event + event->len);
	}
	putchar('\n');
}

int main(void)
{
	char byte;
	int fd;

	MUST(!mkdir("d", 0700) && !mkdir("e", 0700) && (in = inotify_init1(IN_NONBLOCK)) >= 0);
	SAY(inotify_add_watch(in, "d", IN_ALL_EVENTS));
	MUST((fd = open("d/file", O_CREAT | O_RDWR, 0600)) >= 0);
	show("create");
	SAY(inotify_add_watch(in, "d/file", IN_ALL_EVENTS));
	MUST(write(fd, "x", 1) == 1 && write(fd, "y", 1) == 1);
	show("two writes are one event");
	MUST(pread(fd, &byte, 1, 0) == 1);
	show("read");
	MUST(!ftruncate(fd, 0) && !fchmod(fd, 0640));
	show("truncate, chmod");
	MUST(!close(fd));
	show("close");
	MUST(!close(open("d/file", O_RDONLY)));
	show("open to read");
	MUST(!link("d/file", "d/second") && !unlink("d/second"));
	show("link, unlink");
	MUST(!rename("d/file", "d/new") && !rename("d/new", "e/out"));
	show("rename, move away");
	MUST(!unlink("e/out"));
	show("remove");
	MUST(!mkdir("d/sub", 0700) && !rmdir("d/sub"));
	show("folder");
	MUST(!rename("d", "f"));
	show("folder renamed");
	MUST(!rmdir("f"));
	show("folder removed");
	SAY(inotify_rm_watch(in, 1));
	return 0;
}
