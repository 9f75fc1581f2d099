/* unix(7): datagrams keep their bounds and their sender; a full receiver blocks; an unbound sender has no name. */
#include "../observe.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "receiver"},
			   sender = {.sun_family = AF_UNIX, .sun_path = "s"}, from;
	int to = socket(AF_UNIX, SOCK_DGRAM, 0), fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), count = 0;
	socklen_t length = sizeof from;
	char some[8];

	MUST(!bind(to, (void *)&name, sizeof name));
	SAY(sendto(fd, "anonymous", 9, 0, (void *)&name, sizeof name));
	SAY(recvfrom(to, some, 8, MSG_TRUNC, (void *)&from, &length));
	printf("name length %u\n", length);
	SAY(bind(fd, (void *)&sender, sizeof sender));
	SAY(connect(fd, (void *)&name, sizeof name));
	SAY(send(fd, "named", 5, 0));
	length = sizeof from;
	SAY(recvfrom(to, some, 8, 0, (void *)&from, &length));
	printf("from %s\n", from.sun_path);
	while (send(fd, "x", 1, 0) == 1)
		count++;
	printf("%s some fit %d\n", strerrorname_np(errno), count > 5);
	struct pollfd one = {fd, POLLOUT, 0};
	SAY(poll(&one, 1, 0));
	MUST(recv(to, some, 8, 0) == 1);
	SAY(poll(&one, 1, -1));
	SAY(connect(to, (void *)&sender, sizeof sender));
	int stranger = socket(AF_UNIX, SOCK_DGRAM, 0);
	SAY(sendto(stranger, "x", 1, 0, (void *)&name, sizeof name));
	close(to);
	SAY(send(fd, "x", 1, 0));
	return 0;
}
