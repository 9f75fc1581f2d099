/* getdents(2): a buffer without room for one entry is EINVAL; entries tell kind and where to go on. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(void)
{
	char buffer[4096], *names[64], name[300];
	int fd, count = 0, calls = 0;
	long n;

	MUST(!mkdir("d", 0700) && !mkdir("d/dir", 0700) && !symlink("x", "d/link") && !mkfifo("d/fifo", 0600));
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "d/a file with number %d", i);
		MUST(!close(open(name, O_CREAT | O_WRONLY, 0600)));
	}
	MUST((fd = open("d", O_RDONLY | O_DIRECTORY)) >= 0);
	SAY(syscall(SYS_getdents64, fd, buffer, 10));
	SAY(syscall(SYS_getdents, fd, buffer, 10));
	SAY(syscall(SYS_getdents64, fd, (char *)8, 4096));
	SAY(syscall(SYS_getdents64, 0, buffer, 4096));
	while ((n = syscall(SYS_getdents64, fd, buffer, 200)) > 0) {
		calls++;
		for (long at = 0; at < n;) {
			struct dirent64 *entry = (void *)(buffer + at);
			snprintf(name, sizeof name, "%s %d", entry->d_name, entry->d_type);
			names[count++] = strdup(name);
			at += entry->d_reclen;
		}
	}
	printf("%d entries, several calls: %d, end %ld\n", count, calls > 3, n);
	qsort(names, (size_t)count, sizeof *names, by_name);
	for (int i = 0; i < count; i++)
		puts(names[i]);
	SAY(lseek(fd, 0, SEEK_SET));
	n = syscall(SYS_getdents, fd, buffer, sizeof buffer);
	printf("again: %d\n", n > 0);
	return 0;
}
