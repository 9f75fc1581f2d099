/* unix(7): with SO_PASSCRED each message has its sender's credentials; only root may claim other ones. */
#include "../observe.h"
#include <sys/socket.h>
#include <sys/wait.h>

static void get(int fd, pid_t wanted)
{
	char room[CMSG_SPACE(sizeof(struct ucred))], byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	struct ucred who;

	SAY(recvmsg(fd, &message, 0));
	struct cmsghdr *h = CMSG_FIRSTHDR(&message);
	printf("flags %x control %d\n", (unsigned)message.msg_flags, h != NULL);
	if (!h)
		return;
	memcpy(&who, CMSG_DATA(h), sizeof who);
	printf("type %d pid %d uid %d gid %d\n", h->cmsg_type, who.pid == wanted, who.uid == getuid(),
	       who.gid == getgid());
}

int main(void)
{
	int pair[2], on = 1, status;
	struct ucred who, claim = {.pid = getpid(), .uid = getuid(), .gid = getgid()};
	socklen_t length = sizeof who;
	char room[CMSG_SPACE(sizeof claim)] = {0}, byte = 'c';
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	struct cmsghdr *header = (void *)room;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &who, &length));
	printf("pid %d uid %d length %u\n", who.pid == getpid(), who.uid == getuid(), length);
	SAY(send(pair[0], "x", 1, 0));
	get(pair[1], 0);
	SAY(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
	pid_t child = fork();
	if (!child) {
		SAY(send(pair[0], "y", 1, 0));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	get(pair[1], child);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_CREDENTIALS;
	header->cmsg_len = CMSG_LEN(sizeof claim);
	memcpy(CMSG_DATA(header), &claim, sizeof claim);
	SAY(sendmsg(pair[0], &message, 0));
	get(pair[1], getpid());
	claim.pid = 0x7ffffffe;
	memcpy(CMSG_DATA(header), &claim, sizeof claim);
	OK(sendmsg(pair[0], &message, 0));
	return 0;
}
