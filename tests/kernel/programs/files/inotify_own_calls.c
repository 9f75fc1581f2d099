/* inotify(7): BUGS: changes by fallocate and mmap give no event; those of truncate and links do. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static int in;

static void show(const char *what)
{
	char buffer[1024] __attribute__((aligned(8)));
	ssize_t n = read(in, buffer, sizeof buffer);

	printf("%s:", what);
	for (ssize_t at = 0; at < n;) {
		struct inotify_event *event = (void *)(buffer + at);
		printf(" %x", event->mask);
		at += (ssize_t)(sizeof *event + event->len);
	}
	putchar('\n');
}

int main(void)
{
	int fd, other, two[2];

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && (other = open("other", O_CREAT | O_RDWR, 0600)) >= 0);
	MUST(write(other, "0123456789", 10) == 10 && !pipe(two));
	MUST((in = inotify_init1(IN_NONBLOCK)) >= 0 && inotify_add_watch(in, "file", IN_ALL_EVENTS) == 1);
	MUST(!ftruncate(fd, 8192));
	show("truncate");
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	memory[0] = 'x';
	MUST(!msync(memory, 8192, MS_SYNC));
	show("mapping");
	MUST(!utimensat(AT_FDCWD, "file", NULL, 0));
	show("times");
	off_t at = 0;
	MUST(sendfile(fd, other, &at, 5) == 5);
	show("sendfile");
	MUST(copy_file_range(other, &(off_t){0}, fd, &(off_t){0}, 5, 0) == 5);
	show("copy_file_range");
	MUST(splice(fd, &(off_t){0}, two[1], NULL, 5, 0) == 5);
	show("splice");
	MUST(!link("file", "second"));
	show("link");
	MUST(!close(fd));
	show("closed, still mapped");
	return 0;
}
