/* sendmsg(2): several parts, empty ones, too many (EMSGSIZE), bad ones (EFAULT), and control that does not fit (EINVAL). */
#include "inet.h"
#include <limits.h>
#include <sys/uio.h>

int main(void)
{
	static struct iovec many[IOV_MAX + 1];
	struct sockaddr_in name;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct iovec parts[3] = {{(void *)"ab", 2}, {NULL, 0}, {(void *)"cde", 3}}, in[2];
	char a[2], b[8] = "", control[CMSG_SPACE(4)] = {0};
	struct msghdr out = {.msg_name = &name, .msg_namelen = sizeof name, .msg_iov = parts, .msg_iovlen = 3};
	struct msghdr into = {.msg_iov = in, .msg_iovlen = 2};

	in[0] = (struct iovec){a, 2};
	in[1] = (struct iovec){b, 8};
	SAY(sendmsg(fd, &out, 0));
	SAY(recvmsg(to, &into, 0));
	printf("%.2s %.3s %u\n", a, b, into.msg_namelen);
	out.msg_iov = many;
	out.msg_iovlen = IOV_MAX + 1;
	SAY(sendmsg(fd, &out, 0));
	out.msg_iovlen = IOV_MAX;
	SAY(sendmsg(fd, &out, 0));
	SAY(recvmsg(to, &into, 0));
	parts[1] = (struct iovec){(void *)8, 1};
	out.msg_iov = parts;
	out.msg_iovlen = 3;
	SAY(sendmsg(fd, &out, 0));
	out.msg_iovlen = 1;
	out.msg_control = control;
	out.msg_controllen = sizeof control;
	((struct cmsghdr *)control)->cmsg_len = 999;
	SAY(sendmsg(fd, &out, 0));
	out.msg_control = NULL;
	out.msg_controllen = 0;
	out.msg_namelen = 3;
	SAY(sendmsg(fd, &out, 0));
	static char large[70000];
	SAY(sendto(fd, large, sizeof large, 0, (void *)&name, sizeof name));
	SAY(sendto(fd, "x", 1, 0, NULL, 0));
	name.sin_port = 0;
	SAY(sendto(fd, "x", 1, 0, (void *)&name, sizeof name));
	return 0;
}
