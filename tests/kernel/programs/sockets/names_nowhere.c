/* getsockname(2): the length is told to who has no room for the name, and to who gives no address. */
#include "../observe.h"
#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
	int pair[2];
	struct sockaddr_un name;
	socklen_t length = 0;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SAY(getsockname(pair[0], NULL, &length));
	printf("%u\n", length);
	length = 0;
	SAY(getpeername(pair[0], NULL, &length));
	printf("%u\n", length);
	length = 1;
	SAY(getsockname(pair[0], NULL, &length));
	printf("%u\n", length);
	length = 1;
	memset(&name, 7, sizeof name);
	SAY(getsockname(pair[0], (struct sockaddr *)&name, &length));
	printf("%u %d\n", length, name.sun_path[0]);
	length = (socklen_t)-1;
	SAY(getsockname(pair[0], (struct sockaddr *)&name, &length));
	SAY(getsockname(pair[0], NULL, NULL));
	return 0;
}
