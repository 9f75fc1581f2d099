/* unix(7): SOCK_SEQPACKET is connected and keeps the bounds of messages; end of file after shutdown. */
#include "../observe.h"
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

int main(void)
{
	int pair[2], status;
	char a[4] = "", b[4] = "";
	struct iovec in[2] = {{a, 3}, {b, 3}}, out[2] = {{(void *)"one", 3}, {(void *)"two", 3}};

	MUST(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	pid_t child = fork();
	if (!child) {
		MUST(writev(pair[1], out, 2) == 6 && write(pair[1], "3", 1) == 1 && write(pair[1], "", 0) == 0);
		MUST(write(pair[1], "longer than it", 14) == 14 && !shutdown(pair[1], SHUT_WR));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	SAY(readv(pair[0], in, 2));
	printf("%s %s\n", a, b);
	SAY(read(pair[0], a, 3));
	SAY(read(pair[0], a, 3));
	SAY(read(pair[0], a, 3));
	printf("%s\n", a);
	SAY(read(pair[0], a, 3));
	SAY(send(pair[0], "x", 1, MSG_NOSIGNAL));
	SAY(recv(pair[1], a, 3, 0));
	SAY(sendto(pair[0], "x", 1, 0, (void *)"abcdefgh", 8) >= 0 || errno == EISCONN);
	return 0;
}
