/* socket(7): SO_ATTACH_FILTER lets only those datagrams through that the filter accepts; detached and locked. */
#include "inet.h"
#include <linux/filter.h>

int main(void)
{
	struct sock_filter second_is_x[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 8),
					    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'x', 0, 1),
					    BPF_STMT(BPF_RET | BPF_K, 0xffff), BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog program = {4, second_is_x};
	struct sockaddr_in name;
	int to = bound(SOCK_DGRAM, &name), fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	char some[4] = "";

	SAY(setsockopt(to, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
	MUST(sendto(fd, "abc", 3, 0, (void *)&name, sizeof name) == 3);
	MUST(sendto(fd, "xyz", 3, 0, (void *)&name, sizeof name) == 3);
	SAY(recv(to, some, 3, 0));
	printf("%.3s\n", some);
	SAY(recv(to, some, 3, MSG_DONTWAIT));
	SAY(setsockopt(to, SOL_SOCKET, SO_DETACH_FILTER, &on, sizeof on));
	SAY(setsockopt(to, SOL_SOCKET, SO_DETACH_FILTER, &on, sizeof on));
	SAY(setsockopt(to, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof on));
	SAY(setsockopt(to, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
	struct sock_filter got[8];
	socklen_t count = 8;
	SAY(getsockopt(to, SOL_SOCKET, SO_ATTACH_FILTER, got, &count)); /* SO_GET_FILTER */
	printf("%u\n", count);
	to = bound(SOCK_DGRAM, &name);
	count = 8;
	SAY(setsockopt(to, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
	SAY(getsockopt(to, SOL_SOCKET, SO_ATTACH_FILTER, got, &count));
	printf("%u code %x %x\n", count, got[0].code, got[3].code);
	return 0;
}
