/* What it writes to its standard output, by each call that takes it from several parts of memory. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
	struct iovec one[2] = {{"one", 3}, {" two", 4}}, three = {"three", 5}, four = {"four", 4};
	struct msghdr message = {.msg_iov = one, .msg_iovlen = 2};
	struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &three, .msg_iovlen = 1}},
				      {.msg_hdr = {.msg_iov = &four, .msg_iovlen = 1}}};
	int ends[2];
	if (writev(1, one, 2) != 7 || pwritev2(1, one, 2, -1, 0) != 7)
		return 1;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) || dup2(ends[0], 1) != 1)
		return 2;
	return sendmsg(1, &message, 0) != 7 || sendmmsg(1, messages, 2, 0) != 2;
}
