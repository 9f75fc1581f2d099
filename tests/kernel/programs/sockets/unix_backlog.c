/* unix(7): connect to a full backlog gives EAGAIN if non-blocking; removing the listener gives ECONNRESET or EOF. */
#include "../observe.h"
#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "listener"};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fds[4];
	char c;

	MUST(!bind(listener, (void *)&name, sizeof name) && !listen(listener, 0));
	for (int i = 0; i < 3; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		SAY(connect(fds[i], (void *)&name, sizeof name));
	}
	SAY(send(fds[0], "early", 5, 0));
	int one = accept(listener, NULL, NULL);
	SAY(read(one, &c, 1));
	SAY(connect(fds[1], (void *)&name, sizeof name));
	SAY(close(listener));
	SAY(read(fds[1], &c, 1));
	SAY(send(fds[1], "x", 1, MSG_NOSIGNAL));
	fds[3] = socket(AF_UNIX, SOCK_STREAM, 0);
	SAY(connect(fds[3], (void *)&name, sizeof name));
	SAY(unlink("listener"));
	SAY(connect(fds[3], (void *)&name, sizeof name));
	return 0;
}
