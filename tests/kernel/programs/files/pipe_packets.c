/* pipe(2): O_DIRECT: each write is a packet, the rest of one that is read in part is lost; larger ones are split. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>

int main(void)
{
	static char bytes[3 * PIPE_BUF];
	int two[2], ready = 0;

	if (pipe2(two, O_DIRECT | O_NONBLOCK))
		skip("packets in pipes");
	printf("%x\n", fcntl(two[1], F_GETFL) & O_DIRECT);
	SAY(write(two[1], "first", 5));
	SAY(write(two[1], "second", 6));
	SAY(write(two[1], "", 0));
	MUST(!ioctl(two[0], FIONREAD, &ready));
	SAY(ready);
	SAY(read(two[0], bytes, 3));
	SAY(read(two[0], bytes, 100));
	printf("%.6s\n", bytes);
	SAY(read(two[0], bytes, 100));
	SAY(write(two[1], bytes, PIPE_BUF + 10));
	SAY(read(two[0], bytes, sizeof bytes));
	SAY(read(two[0], bytes, sizeof bytes));
	SAY(fcntl(two[1], F_SETFL, O_NONBLOCK));
	SAY(write(two[1], "a", 1));
	SAY(write(two[1], "b", 1));
	SAY(read(two[0], bytes, sizeof bytes));
	return 0;
}
