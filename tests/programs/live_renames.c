/* For restarts: files that are renamed and deleted once they are written, as programs save their state.
 * It marks each place with getppid(2), and ends with what it has read in all of them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int opened(const char *path, int flags)
{
	int fd = open(path, flags, 0600);
	if (fd < 0)
		fail(path);
	return fd;
}

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail("write");
}

static long add(const char *path)
{
	char buf[256] = "";
	long sum = 0;
	int fd = opened(path, O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf));
	for (ssize_t i = 0; i < n; i++)
		sum = sum * 7 + buf[i];
	close(fd);
	return sum;
}

int main(void)
{
	long sum = 0;
	char text[64];
	struct stat st;
	struct timespec now;
	for (int i = 0; i < 3; i++) { /* under another name first */
		int fd = opened("state.new", O_WRONLY | O_CREAT | O_TRUNC);
		snprintf(text, sizeof(text), "state %d\n", i);
		put(fd, text);
		getppid();
		close(fd);
		getppid();
		if (rename("state.new", "state"))
			fail("rename");
		getppid();
		sum = sum * 3 + add("state");
	}
	if (mkdir("folder", 0700)) /* nothing of it is there in the end */
		fail("mkdir");
	int fd = opened("folder/deleted", O_RDWR | O_CREAT | O_EXCL);
	put(fd, "deleted");
	getppid();
	if (unlink("folder/deleted") || !stat("folder/deleted", &st))
		fail("unlink");
	rmdir("folder"); /* a branch finds it gone */
	getppid();
	lseek(fd, 0, SEEK_SET);
	if (read(fd, text, 7) != 7)
		fail("read");
	close(fd);
	int one = opened("twice", O_WRONLY | O_CREAT | O_TRUNC), other = opened("twice", O_WRONLY | O_APPEND),
	    reads = opened("twice", O_RDONLY);
	put(one, "one ");
	getppid();
	put(other, "other ");
	getppid();
	put(other, "again");
	if (lseek(reads, 4, SEEK_SET) != 4 || read(reads, text, 6) != 6 || memcmp(text, "other ", 6))
		fail("what was written is not read");
	close(one);
	close(other);
	close(reads);
	getppid();
	one = opened("twice", O_RDWR); /* written over where it is */
	put(one, "ONE ");
	close(one);
	getppid();
	if (link("twice", "linked") || unlink("twice"))
		fail("link");
	getppid();
	sum = sum * 3 + add("linked");
	for (int i = 0; i < 100; i++) /* many calls that are no system calls */
		clock_gettime(CLOCK_MONOTONIC, &now);
	printf("sum %ld\n", sum);
	return unlink("linked") || unlink("state");
}
