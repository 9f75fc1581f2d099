/* pidfd_getfd(2): a descriptor of another process is duplicated, close-on-exec, with the same offset. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

int main(void)
{
	int up[2], down[2], status, fd = fileno(tmpfile());
	char c, some[8] = "";

	MUST(!pipe(up) && !pipe(down) && write(fd, "0123456", 7) == 7);
	pid_t child = fork();
	if (!child) {
		int own = dup2(open("/proc/self/fd/0", O_RDONLY), 50);
		MUST(own == 50 && dup2(fd, 51) == 51 && lseek(51, 2, SEEK_SET) == 2);
		MUST(write(up[1], "x", 1) == 1 && read(down[0], &c, 1) == 1);
		_exit(0);
	}
	int pidfd = pidfd_open(child, 0);
	MUST(pidfd >= 0 && read(up[0], &c, 1) == 1);
	int got = pidfd_getfd(pidfd, 51, 0);
	printf("got %d cloexec %d\n", got >= 0, fcntl(got, F_GETFD));
	SAY(read(got, some, 3));
	printf("%s\n", some);
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(pidfd_getfd(pidfd, 777, 0));
	SAY(pidfd_getfd(pidfd, 50, 1));
	SAY(pidfd_getfd(0, 50, 0));
	MUST(write(down[1], "x", 1) == 1 && waitpid(child, &status, 0) == child);
	SAY(pidfd_getfd(pidfd, 50, 0));
	return 0;
}
