/* pipe(7): PIPE_BUF, F_SETPIPE_SZ, FIONREAD, O_NONBLOCK, and O_DIRECT packets. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

int main(void)
{
	static char much[1 << 20];
	int fds[2], count;
	char some[100];

	MUST(!pipe2(fds, O_NONBLOCK | O_CLOEXEC));
	SAY(fcntl(fds[1], F_GETPIPE_SZ));
	SAY(fcntl(fds[1], F_SETPIPE_SZ, 5000));
	SAY(write(fds[1], much, sizeof much));
	SAY(write(fds[1], much, 1));
	SAY(ioctl(fds[0], FIONREAD, &count));
	printf("%d\n", count);
	SAY(fcntl(fds[0], F_SETPIPE_SZ, 4096));
	SAY(read(fds[0], much, 5000));
	SAY(write(fds[1], much, PIPE_BUF + 1));
	SAY(write(fds[1], much, PIPE_BUF));
	SAY(fcntl(fds[1], F_SETPIPE_SZ, 1u << 31));
	SAY(read(fds[1], some, 1));
	SAY(write(fds[0], some, 1));
	SAY(lseek(fds[0], 0, SEEK_SET));
	SAY(pread(fds[0], some, 1, 0));
	MUST(!pipe2(fds, O_DIRECT | O_NONBLOCK));
	SAY(write(fds[1], "first", 5));
	SAY(write(fds[1], "second packet", 13));
	SAY(read(fds[0], some, 3));
	SAY(read(fds[0], some, 100));
	SAY(read(fds[0], some, 100));
	SAY(pipe2(fds, O_APPEND));
	SAY(syscall(SYS_pipe, 8));
	return 0;
}
