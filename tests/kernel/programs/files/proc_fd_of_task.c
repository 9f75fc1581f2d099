/* proc(5): task/TID/fd and thread-self/fd list the same descriptors as fd, by whatever way one gets there. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void list(const char *what, int fd, size_t room)
{
	char entries[4096];
	long n;

	MUST(fd >= 0);
	printf("%s:", what);
	while ((n = syscall(SYS_getdents64, fd, entries, room)) > 0)
		for (char *p = entries; p < entries + n; p += ((struct dirent64 *)p)->d_reclen)
			printf(" %s", ((struct dirent64 *)p)->d_name);
	printf(" (%ld)\n", n);
	close(fd);
}

int main(void)
{
	char path[64];

	closefrom(3);
	for (int i = 0; i < 9; i++)
		MUST(dup(2) >= 0);
	const int proc = open("/proc", O_PATH | O_DIRECTORY), self = open("/proc/self", O_PATH | O_DIRECTORY);
	MUST(proc >= 0 && self >= 0);
	for (size_t room = 100; room <= 4096; room *= 20) {
		snprintf(path, sizeof path, "task/%d/fd", gettid());
		list("task", openat(self, path, O_RDONLY | O_DIRECTORY), room);
		list("thread-self", openat(proc, "thread-self/fd", O_RDONLY | O_DIRECTORY), room);
		list("absolute", openat(-1, "/proc/thread-self/fdinfo", O_RDONLY | O_DIRECTORY), room);
		snprintf(path, sizeof path, "/proc/%d/task/%d/fdinfo", getpid(), gettid());
		list("by number", open(path, O_RDONLY | O_DIRECTORY), room);
	}
	return 0;
}
