/* recv(2): PEEK, TRUNC, WAITALL, DONTWAIT and what each does for datagrams, packets and streams. */
#include "../observe.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

int main(void)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	int pair[2], status;
	char some[16];

	for (int t = 0; t < 3; t++) {
		struct iovec part = {some, 3};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

		printf("type %d\n", types[t]);
		MUST(!socketpair(AF_UNIX, types[t], 0, pair));
		SAY(recv(pair[0], some, 4, MSG_DONTWAIT));
		SAY(send(pair[1], "abcdef", 6, 0));
		SAY(send(pair[1], "ghi", 3, MSG_EOR));
		SAY(recv(pair[0], some, 4, MSG_PEEK));
		SAY(recv(pair[0], some, 4, MSG_PEEK | MSG_TRUNC));
		SAY(recvmsg(pair[0], &message, 0));
		printf("%.3s flags %x\n", some, (unsigned)message.msg_flags);
		part.iov_len = 10;
		SAY(recvmsg(pair[0], &message, MSG_DONTWAIT));
		printf("flags %x\n", (unsigned)message.msg_flags);
		SAY(recv(pair[0], some, 4, MSG_DONTWAIT));
		SAY(send(pair[1], "", 0, 0));
		SAY(recv(pair[0], some, 4, MSG_DONTWAIT));
		SAY(recv(pair[0], some, 4, MSG_OOB));
		close(pair[0]);
		SAY(send(pair[1], "x", 1, MSG_NOSIGNAL));
		close(pair[1]);
	}
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid_t child = fork();
	if (!child) {
		for (int i = 0; i < 4; i++)
			MUST(write(pair[1], "xyz", 3) == 3);
		_exit(0);
	}
	SAY(recv(pair[0], some, 12, MSG_WAITALL));
	printf("%.12s\n", some);
	MUST(waitpid(child, &status, 0) == child);
	MUST(write(pair[1], "xyz", 3) == 3);
	SAY(shutdown(pair[1], SHUT_WR));
	SAY(recv(pair[0], some, 12, MSG_WAITALL));
	SAY(recv(pair[0], some, 12, MSG_WAITALL));
	SAY(recv(pair[0], (void *)8, 0, 0));
	return 0;
}
