/* pidfd_getfd(2): the caller gets a copy of another process' descriptor, close-on-exec and with the same offset. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	int there[2], done[2], fd, number = -1;
	char c;

	MUST(!pipe(there) && !pipe(done));
	pid_t pid = fork();
	if (!pid) {
		close(done[1]);
		MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(fd, "hello", 5) == 5);
		MUST(write(there[1], &fd, sizeof(fd)) == sizeof(fd));
		_exit((int)read(done[0], &c, 1));
	}
	int of = (int)syscall(SYS_pidfd_open, pid, 0);
	MUST(read(there[0], &number, sizeof(number)) == sizeof(number));
	fd = (int)syscall(SYS_pidfd_getfd, of, number, 0);
	if (fd < 0 && (errno == EPERM || errno == ENOSYS))
		skip("pidfd_getfd");
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(fcntl(fd, F_GETFD));
	SAY(syscall(SYS_pidfd_getfd, of, 999, 0));
	SAY(syscall(SYS_pidfd_getfd, of, number, 1));
	SAY(syscall(SYS_pidfd_getfd, 1, number, 0));
	close(done[1]);
	MUST(waitpid(pid, NULL, 0) == pid);
	return 0;
}
