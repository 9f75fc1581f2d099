/* pipe(7): F_SETPIPE_SZ, what fits, writes of up to PIPE_BUF bytes are whole, larger ones may be partial. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>

int main(void)
{
	static char bytes[200000];
	int two[2], ready;

	MUST(!pipe2(two, O_NONBLOCK));
	SAY(fcntl(two[0], F_GETPIPE_SZ));
	SAY(fcntl(two[1], F_SETPIPE_SZ, 5000));
	SAY(fcntl(two[1], F_SETPIPE_SZ, 1));
	SAY(write(two[1], bytes, 3000));
	SAY(write(two[1], bytes, PIPE_BUF));
	SAY(write(two[1], bytes, 1096));
	SAY(write(two[1], bytes, 1));
	SAY(fcntl(two[1], F_SETPIPE_SZ, 32768));
	SAY(write(two[1], bytes, sizeof bytes));
	SAY(write(two[1], bytes, PIPE_BUF));
	MUST(!ioctl(two[0], FIONREAD, &ready));
	SAY(ready);
	SAY(fcntl(two[1], F_SETPIPE_SZ, 4096));
	SAY(read(two[0], bytes, PIPE_BUF - 1));
	SAY(write(two[1], bytes, PIPE_BUF));
	SAY(read(two[0], bytes, sizeof bytes));
	SAY(read(two[0], bytes, 1));
	SAY(fcntl(0, F_GETPIPE_SZ));
	SAY(pipe2(two, 1));
	SAY(write(two[0], "x", 1));
	SAY(read(two[1], bytes, 1));
	SAY(write(two[1], bytes, 0));
	return 0;
}
