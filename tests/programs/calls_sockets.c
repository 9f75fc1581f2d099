/* TCP, UDP and Unix sockets, several messages at once, a descriptor sent along. */
#include "calls.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static void tcp(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, peer;
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, waiting;
	NEED(l >= 0 && setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	NEED(bind(l, (void *)&a, len) == 0 && listen(l, 5) == 0 && getsockname(l, (void *)&a, &len) == 0);
	int c = socket(AF_INET, SOCK_STREAM, 0);
	NEED(connect(c, (void *)&a, sizeof(a)) == 0);
	len = sizeof(peer);
	int s = accept4(l, (void *)&peer, &len, SOCK_CLOEXEC);
	NEED(s >= 0 && len == sizeof(peer));
	char small[4];
	len = sizeof(small); /* less room than the address has */
	NEED(getpeername(c, (void *)small, &len) == 0 && len == sizeof(peer));
	NEED(send(c, "hello", 5, 0) == 5);
	struct pollfd p = {.fd = s, .events = POLLIN};
	NEED(poll(&p, 1, 5000) == 1 && (p.revents & POLLIN));
	NEED(ioctl(s, FIONREAD, &waiting) == 0 && waiting == 5);
	char buf[64];
	NEED(recv(s, buf, sizeof(buf), MSG_PEEK) == 5 && read(s, buf, sizeof(buf)) == 5);
	struct tcp_info info;
	len = sizeof(info);
	NEED(getsockopt(c, IPPROTO_TCP, TCP_INFO, &info, &len) == 0);
	len = sizeof(one);
	NEED(getsockopt(c, SOL_SOCKET, SO_ERROR, &one, &len) == 0 && one == 0);
	NEED(shutdown(c, SHUT_WR) == 0 && read(s, buf, sizeof(buf)) == 0);
	close(c), close(s), close(l);
}

static void udp(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from[3];
	socklen_t len = sizeof(a);
	int u = socket(AF_INET, SOCK_DGRAM, 0);
	NEED(bind(u, (void *)&a, len) == 0 && getsockname(u, (void *)&a, &len) == 0);
	struct iovec out[3] = {{"one", 3}, {"two..", 5}, {"three", 5}}, in[3];
	struct mmsghdr m[3] = {0};
	char bufs[3][16];
	for (int i = 0; i < 3; i++)
		m[i].msg_hdr = (struct msghdr){.msg_name = &a, .msg_namelen = sizeof(a), .msg_iov = out + i, .msg_iovlen = 1};
	NEED(sendmmsg(u, m, 3, 0) == 3);
	for (int i = 0; i < 3; i++) {
		in[i] = (struct iovec){bufs[i], 4}; /* the longer ones are cut off */
		m[i].msg_hdr = (struct msghdr){
			.msg_name = from + i, .msg_namelen = sizeof(*from), .msg_iov = in + i, .msg_iovlen = 1};
	}
	struct timespec limit = {5, 0};
	NEED(recvmmsg(u, m, 3, MSG_TRUNC, &limit) == 3 && m[1].msg_len == 5);
	NEED(sendto(u, "again", 5, 0, (void *)&a, sizeof(a)) == 5);
	NEED(recvfrom(u, bufs, 2, MSG_TRUNC, (void *)from, &len) == 5);
	struct ifconf ifc = {.ifc_len = 0};
	struct ifreq lo = {.ifr_name = "lo"};
	char ifs[4096];
	ifc.ifc_len = sizeof(ifs);
	ifc.ifc_buf = ifs;
	NEED(ioctl(u, SIOCGIFCONF, &ifc) == 0 && ioctl(u, SIOCGIFINDEX, &lo) == 0);
	close(u);
}

static void unix_socket(void)
{
	int sv[2], p[2];
	NEED(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv) == 0 && pipe2(p, O_CLOEXEC) == 0);
	char data[] = "x", room[CMSG_SPACE(sizeof(int))] = {0}, got[CMSG_SPACE(sizeof(int)) + 32];
	struct iovec iov = {data, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(c), p + 1, sizeof(int));
	NEED(sendmsg(sv[0], &m, 0) == 1);
	m.msg_control = got;
	m.msg_controllen = sizeof(got);
	NEED(recvmsg(sv[1], &m, MSG_CMSG_CLOEXEC) == 1);
	int fd;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	char buf[8];
	NEED(write(fd, "through", 7) == 7 && read(p[0], buf, 8) == 7);
	struct ucred cred;
	socklen_t len = sizeof(cred);
	NEED(getsockopt(sv[0], SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.pid == getpid());
}

int main(void)
{
	tcp();
	udp();
	unix_socket();
	puts("ok");
}
