/* inotify(7): the two events of a rename have the same cookie, other renames another. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

int main(void)
{
	char buffer[4096] __attribute__((aligned(8)));
	unsigned cookies[8] = {0};
	int in, n = 0;

	MUST(!mkdir("a", 0700) && !mkdir("b", 0700) && !close(open("a/x", O_CREAT | O_WRONLY, 0600)));
	MUST(!close(open("a/z", O_CREAT | O_WRONLY, 0600)));
	MUST((in = inotify_init()) >= 0);
	MUST(inotify_add_watch(in, "b", IN_MOVE) == 1 && inotify_add_watch(in, "a", IN_MOVE) == 2);
	MUST(!rename("a/x", "b/y") && !rename("b/y", "b/w"));
	MUST(!renameat2(AT_FDCWD, "a/z", AT_FDCWD, "b/w", RENAME_EXCHANGE));
	ssize_t length = read(in, buffer, sizeof buffer);
	for (ssize_t at = 0; at < length;) {
		struct inotify_event *event = (void *)(buffer + at);
		cookies[n++] = event->cookie;
		printf("%d %s %s\n", event->wd, event->mask & IN_MOVED_FROM ? "from" : "to", event->name);
		at += (ssize_t)(sizeof *event + event->len);
	}
	for (int i = 0; i + 1 < n; i += 2)
		printf("equal: %d\n", cookies[i] == cookies[i + 1]);
	printf("another: %d\n", cookies[0] != cookies[2]);
	return 0;
}
