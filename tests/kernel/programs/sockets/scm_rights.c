/* unix(7): SCM_RIGHTS passes descriptors; MSG_CMSG_CLOEXEC, too little room (MSG_CTRUNC), and PEEK duplicates them. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/socket.h>

static int pair[2];

static void put(const int *fds, size_t count)
{
	char room[CMSG_SPACE(4 * sizeof(int))] = {0}, byte = 'd';
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room};
	struct cmsghdr *header = (void *)room;

	message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, count * sizeof(int));
	SAY(sendmsg(pair[0], &message, 0));
}

static void get(int flags, size_t room_for)
{
	char room[CMSG_SPACE(4 * sizeof(int))], byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room};

	message.msg_controllen = room_for;
	SAY(recvmsg(pair[1], &message, flags));
	printf("flags %x length %zu\n", (unsigned)message.msg_flags, message.msg_controllen);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
		int fds[4];
		size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		memcpy(fds, CMSG_DATA(h), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			char text[8] = "";
			printf("descriptor: cloexec %d read %zd", fcntl(fds[i], F_GETFD), pread(fds[i], text, 3, 0));
			printf(" %s\n", text);
			close(fds[i]);
		}
	}
}

int main(void)
{
	int fds[3];

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (int i = 0; i < 3; i++) {
		char text[4] = {'a', 'b', (char)('0' + i), 0};
		fds[i] = fileno(tmpfile());
		MUST(fds[i] >= 0 && write(fds[i], text, 3) == 3);
	}
	put(fds, 3);
	get(MSG_CMSG_CLOEXEC, CMSG_SPACE(3 * sizeof(int)));
	put(fds, 3);
	get(0, CMSG_LEN(sizeof(int)));
	put(fds, 2);
	get(MSG_PEEK, CMSG_SPACE(4 * sizeof(int)));
	get(0, CMSG_SPACE(4 * sizeof(int)));
	put(fds, 1);
	get(0, 0);
	fds[0] = 777;
	put(fds, 1);
	return 0;
}
