/* bind(2): addresses in use, of others, wrong families and lengths; SO_REUSEADDR; port 0 gives a new one. */
#include "inet.h"
#include <sys/un.h>

int main(void)
{
	struct sockaddr_in name, other = at_loopback(0);
	int fd = bound(SOCK_STREAM, &name), second = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	SAY(bind(second, (void *)&name, sizeof name));
	SAY(bind(fd, (void *)&other, sizeof other));
	SAY(setsockopt(second, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
	SAY(bind(second, (void *)&name, sizeof name));
	other.sin_addr.s_addr = htonl(0x01020304);
	SAY(bind(second, (void *)&other, sizeof other));
	other.sin_family = AF_INET6;
	SAY(bind(second, (void *)&other, sizeof other));
	SAY(bind(second, (void *)&name, 5));
	SAY(bind(second, NULL, 16));
	SAY(bind(0, (void *)&name, sizeof name));
	struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "no/such/folder"};
	SAY(bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&path, sizeof path));
	memset(path.sun_path, 'x', sizeof path.sun_path);
	SAY(bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&path, sizeof path + 1));
	SAY(bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&path, 2));
	SAY(listen(second, 1));
	SAY(setsockopt(second, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0 || errno == EPERM);
	return 0;
}
