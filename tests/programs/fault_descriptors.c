/* Uses up its descriptors, goes on working, closes them all: what it prints is the same when recorded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	static char data[65536];
	struct rlimit rl;
	int n = 0, last = -1, fd, closed = 0;
	long sum = 0;
	getrlimit(RLIMIT_NOFILE, &rl);
	printf("limit %lu\n", (unsigned long)rl.rlim_cur);
	while ((fd = open("/dev/zero", O_RDONLY)) >= 0) {
		n++;
		sum += last = fd;
	}
	printf("%d opened, last %d, sum %ld: %s\n", n, last, sum, strerror(errno));
	for (int i = 0; i < 40; i++) /* more than the first segment of a log holds */
		if (read(last, data, sizeof(data)) != sizeof(data))
			return 3;
	printf("dup2: %d\n", dup2(last, (int)rl.rlim_cur - 1) >= 0);
	for (int i = 3; i < (int)rl.rlim_cur + 200; i++)
		if (i != last)
			closed += close(i) == 0;
	printf("closed %d\n", closed);
	printf("close_range %ld\n", syscall(SYS_close_range, 3, ~0u, 0));
	printf("close %d\n", close(last));
	printf("again %d\n", open("/dev/zero", O_RDONLY));
	return 0;
}
