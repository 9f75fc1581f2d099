/* splice(2), sendfile(2): from a file into a socket, from a socket into a pipe, from a pipe into a socket. */
#include "inet.h"
#include <fcntl.h>
#include <sys/sendfile.h>

int main(void)
{
	int pair[2], unix_pair[2], pipes[2], file = fileno(tmpfile());
	char some[32] = "";
	off_t at = 2;

	MUST(write(file, "0123456789", 10) == 10);
	tcp_pair(pair);
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, unix_pair) && !pipe(pipes));
	SAY(sendfile(pair[0], file, &at, 5));
	printf("at %ld\n", (long)at);
	SAY(lseek(file, 1, SEEK_SET));
	SAY(sendfile(unix_pair[0], file, NULL, 100));
	SAY(sendfile(unix_pair[0], file, NULL, 100));
	SAY(recv(pair[1], some, 3, MSG_WAITALL));
	printf("%.3s\n", some);
	SAY(splice(pair[1], NULL, pipes[1], NULL, 2, 0));
	SAY(splice(pipes[0], NULL, unix_pair[1], NULL, 2, SPLICE_F_MORE));
	SAY(read(unix_pair[0], some, 8));
	printf("%.2s\n", some);
	SAY(read(unix_pair[1], some, 32));
	printf("%.9s\n", some);
	SAY(fcntl(pair[1], F_SETFL, O_NONBLOCK));
	SAY(splice(pair[1], NULL, pipes[1], NULL, 2, SPLICE_F_NONBLOCK));
	SAY(fcntl(pair[1], F_SETFL, 0));
	SAY(splice(pair[1], NULL, unix_pair[1], NULL, 2, 0));
	SAY(splice(pair[1], &at, pipes[1], NULL, 2, 0));
	SAY(sendfile(file, pair[1], NULL, 3));
	SAY(shutdown(pair[0], SHUT_WR));
	SAY(splice(pair[1], NULL, pipes[1], NULL, 2, 0));
	return 0;
}
