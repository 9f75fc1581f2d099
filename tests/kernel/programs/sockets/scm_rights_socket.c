/* unix(7): a descriptor in flight outlives its close, and a socket can travel through itself; a fork's child may receive it. */
#include "../observe.h"
#include <sys/socket.h>
#include <sys/wait.h>

static void put(int through, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 'd';
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	struct cmsghdr *header = (void *)room;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
	SAY(sendmsg(through, &message, 0));
}

static int get(int from)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	int fd;

	MUST(recvmsg(from, &message, 0) == 1 && message.msg_controllen);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
	return fd;
}

int main(void)
{
	int pair[2], fds[2], status;
	char text[8] = "";

	MUST(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) && !pipe(fds));
	put(pair[0], fds[1]);
	close(fds[1]);
	put(pair[0], pair[1]);
	pid_t child = fork();
	MUST(child >= 0);
	if (!child) {
		int end = get(pair[1]), own = get(pair[1]);
		close(pair[1]);
		SAY(write(end, "child", 5));
		SAY(send(pair[0], "more", 4, 0));
		SAY(recv(own, text, 4, 0));
		printf("%s\n", text);
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	SAY(read(fds[0], text, 8));
	printf("%s\n", text);
	SAY(read(fds[0], text, 8));
	return 0;
}
