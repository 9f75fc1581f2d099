/* unix(7): SO_PEERGROUPS tells the peer's groups; too little room gives ERANGE and the length that it takes. */
#include "../observe.h"
#include <grp.h>
#include <sys/socket.h>

int main(void)
{
	static const gid_t groups[5] = {3, 5, 8, 13, 21};
	gid_t got[8] = {0};
	socklen_t length = 2 * sizeof *got;
	int pair[2];

	if (setgroups(5, groups))
		skip("not root");
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_PEERGROUPS, got, &length));
	printf("takes %u, first %u\n", length, got[0]);
	length = sizeof got;
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_PEERGROUPS, got, &length));
	printf("length %u last %u\n", length, got[4]);
	length = 0;
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, got, &length));
	printf("length %u\n", length);
	length = (socklen_t)-5;
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, got, &length));
	length = 1;
	SAY(getsockopt(pair[0], SOL_SOCKET, SO_LINGER, got, &length));
	printf("length %u\n", length);
	return 0;
}
