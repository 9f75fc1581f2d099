/* recvmmsg(2), sendmmsg(2): several datagrams in one call, with the length of each; flags and time-out. */
#include "inet.h"
#include <time.h>

int main(void)
{
	struct sockaddr_in name, from[4];
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0);
	char texts[4][8] = {"a", "bbb", "", "longer"}, rooms[4][5];
	struct iovec out[4], in[4];
	struct mmsghdr send_them[4] = {0}, get_them[4] = {0};
	struct timespec moment = {0, 3000000};

	for (int i = 0; i < 4; i++) {
		out[i] = (struct iovec){texts[i], strlen(texts[i])};
		in[i] = (struct iovec){rooms[i], 5};
		send_them[i].msg_hdr = (struct msghdr){
			.msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &out[i], .msg_iovlen = 1};
		get_them[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &in[i], .msg_iovlen = 1};
	}
	SAY(sendmmsg(fd, send_them, 4, 0));
	for (int i = 0; i < 4; i++)
		printf("%u\n", send_them[i].msg_len);
	SAY(recvmmsg(to, get_them, 2, MSG_WAITFORONE, NULL));
	SAY(recvmmsg(to, get_them + 2, 2, 0, &moment));
	for (int i = 0; i < 4; i++)
		printf("%u flags %x name %u %.*s\n", get_them[i].msg_len, (unsigned)get_them[i].msg_hdr.msg_flags,
		       get_them[i].msg_hdr.msg_namelen, (int)get_them[i].msg_len, rooms[i]);
	SAY(recvmmsg(to, get_them, 4, MSG_DONTWAIT, NULL));
	SAY(sendmmsg(fd, send_them, 1, 0));
	SAY(recvmmsg(to, get_them, 4, MSG_WAITFORONE, NULL));
	SAY(recvmmsg(to, get_them, 4, MSG_DONTWAIT, &(struct timespec){0, -1}));
	send_them[2].msg_hdr.msg_name = NULL;
	SAY(sendmmsg(fd, send_them, 4, 0));
	SAY(sendmmsg(fd, send_them + 2, 1, 0));
	SAY(sendmmsg(fd, send_them, 0, 0));
	return 0;
}
