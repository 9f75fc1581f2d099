/* proc_pid_fd(5): opening /proc/self/fd/N makes a new open file, of a pipe too; /dev/stdin is descriptor 0. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int by(const char *place, int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof path, "%s/%d", place, fd);
	return open(path, flags);
}

int main(void)
{
	char text[16] = "";
	int fd, again, two[2], end, pair[2];
	struct stat a, b;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(fd, "content", 7) == 7 && !unlink("file"));
	MUST((again = by("/dev/fd", fd, O_RDONLY)) >= 0);
	SAY(read(again, text, 16));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(write(again, "x", 1));
	MUST((again = by("/proc/thread-self/fd", fd, O_WRONLY | O_TRUNC)) >= 0);
	SAY(lseek(fd, 0, SEEK_END));
	MUST(!pipe(two) && write(two[1], "in the pipe", 11) == 11);
	MUST((end = by("/proc/self/fd", two[1], O_RDONLY | O_NONBLOCK)) >= 0); /* the other end */
	SAY(read(end, text, 16));
	SAY(read(end, text, 16));
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SAY(by("/proc/self/fd", pair[0], O_RDWR));
	SAY(by("/proc/self/fd", 99, O_RDWR));
	MUST(dup2(fd, 0) == 0 && !stat("/dev/stdin", &a) && !fstat(fd, &b));
	printf("the same: %d\n", a.st_ino == b.st_ino);
	SAY(by("/proc/self/fd", fd, O_RDONLY | O_NOFOLLOW));
	MUST(!fchmod(fd, 0) || 1);
	SAY(faccessat(AT_FDCWD, "/dev/stdin", R_OK | W_OK, 0) && !geteuid());
	return 0;
}
