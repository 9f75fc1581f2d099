/* rtnetlink(7): RTM_GETLINK and RTM_GETADDR list the loopback device. */
#include "../observe.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

static void ask(int fd, unsigned short type)
{
	struct {
		struct nlmsghdr header;
		struct rtgenmsg body;
	} question = {{sizeof question, type, NLM_F_REQUEST | NLM_F_DUMP, 5, 0}, {AF_UNSPEC}};
	static char room[65536];
	ssize_t length;
	int done = 0, found = 0;

	MUST(send(fd, &question, sizeof question, 0) == sizeof question);
	while (!done) {
		length = recv(fd, room, sizeof room, 0);
		MUST(length > 0);
		for (struct nlmsghdr *h = (void *)room; NLMSG_OK(h, length); h = NLMSG_NEXT(h, length)) {
			done |= h->nlmsg_type == NLMSG_DONE;
			if (h->nlmsg_type == RTM_NEWLINK)
				found |= ((struct ifinfomsg *)NLMSG_DATA(h))->ifi_flags & IFF_LOOPBACK;
			if (h->nlmsg_type == RTM_NEWADDR)
				found |= ((struct ifaddrmsg *)NLMSG_DATA(h))->ifa_family == AF_INET;
		}
	}
	printf("type %d found %d\n", type, !!found);
}

int main(void)
{
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};
	socklen_t length = sizeof name;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	MUST(fd >= 0);
	SAY(bind(fd, (void *)&name, sizeof name));
	SAY(getsockname(fd, (void *)&name, &length));
	printf("family %d me %d\n", name.nl_family, name.nl_pid == (unsigned)getpid());
	ask(fd, RTM_GETLINK);
	ask(fd, RTM_GETADDR);
	struct nlmsghdr wrong = {sizeof wrong, 999, NLM_F_REQUEST | NLM_F_ACK, 7, 0};
	char room[256];
	SAY(send(fd, &wrong, sizeof wrong, 0));
	SAY(recv(fd, room, sizeof room, 0) > 0);
	struct nlmsghdr *answer = (void *)room;
	printf("type %d error %d seq %u\n", answer->nlmsg_type, ((struct nlmsgerr *)NLMSG_DATA(answer))->error,
	       answer->nlmsg_seq);
	return 0;
}
