/* pidfd_getfd(2): a descriptor of a child: the same open file, close-on-exec. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	char text[16] = "";
	int out[2], in[2], status;

	MUST(!pipe(out) && !pipe(in));
	pid_t child = fork();
	if (!child) {
		int fd = open("file", O_CREAT | O_RDWR, 0600);
		MUST(dup2(fd, 70) == 70 && write(fd, "of the child", 12) == 12 && lseek(fd, 3, SEEK_SET) == 3);
		MUST(write(out[1], "x", 1) == 1 && read(in[0], text, 1) == 1);
		_exit(lseek(70, 0, SEEK_CUR) == 8 ? 0 : 1);
	}
	MUST(read(out[0], text, 1) == 1);
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	MUST(pidfd >= 0);
	SAY(fcntl(pidfd, F_GETFD));
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, 70, 0);
	if (fd < 0 && errno == EPERM)
		skip("descriptors of a child");
	MUST(fd >= 0);
	SAY(fcntl(fd, F_GETFD));
	SAY(read(fd, text, 5));
	puts(text);
	SAY(syscall(SYS_pidfd_getfd, pidfd, 71, 0));
	SAY(syscall(SYS_pidfd_getfd, pidfd, 70, 1));
	SAY(syscall(SYS_pidfd_getfd, 0, 70, 0));
	MUST(write(in[1], "y", 1) == 1 && waitpid(child, &status, 0) == child);
	SAY(WEXITSTATUS(status));
	SAY(syscall(SYS_pidfd_getfd, pidfd, 70, 0));
	return 0;
}
