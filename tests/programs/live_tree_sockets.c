/* A parent talks with its child over a pair of sockets (`pair`), or a child that connects to it (`unix`, `tcp`) with a
 * grandchild that its parent has the connection served by.  There is always something under way.  getppid() marks places
 * to restart at. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 4 };

static int serve(int fd)
{
	int got, sum = 0;
	while (recv(fd, &got, sizeof(got), MSG_WAITALL) == sizeof(got)) {
		sum += got;
		getppid();
		if (send(fd, &sum, sizeof(sum), 0) != sizeof(sum))
			return 1;
	}
	return sum;
}

/* One ahead. */
static int ask(int fd)
{
	int sum = 0;
	for (int i = 1; i <= TURNS + 1; i++) {
		if (i <= TURNS && write(fd, &i, sizeof(i)) != sizeof(i))
			return 3;
		if (i == 1)
			continue;
		if (read(fd, &sum, sizeof(sum)) != sizeof(sum))
			return 4;
		printf("%d: %d\n", i - 1, sum);
		fflush(stdout);
		getppid();
	}
	shutdown(fd, SHUT_WR);
	return read(fd, &sum, sizeof(sum)) == 0 ? 0 : 5;
}

static int ended(void)
{
	int status;
	if (wait(&status) < 0)
		return -1;
	getppid();
	return WEXITSTATUS(status);
}

static int pair(void)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 2;
	if (!fork()) {
		close(ends[0]);
		_exit(serve(ends[1]));
	}
	close(ends[1]);
	int rc = ask(ends[0]);
	printf("status %d\n", ended());
	return rc;
}

static int connection(int family)
{
	struct sockaddr_storage at = {.ss_family = (sa_family_t)family};
	socklen_t len = sizeof(at);
	int told[2];
	char c = 0;
	int door = socket(family, SOCK_STREAM, 0);
	if (family == AF_UNIX)
		strcpy(((struct sockaddr_un *)&at)->sun_path, "door");
	else
		((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(door, (void *)&at, family == AF_UNIX ? sizeof(struct sockaddr_un) : sizeof(struct sockaddr_in)) ||
	    getsockname(door, (void *)&at, &len) || listen(door, 4) || pipe(told))
		return 2;
	if (!fork()) {
		int fd = socket(family, SOCK_STREAM, 0);
		if (connect(fd, (void *)&at, len) || write(told[1], &c, 1) != 1)
			_exit(1);
		close(door);
		_exit(ask(fd));
	}
	if (read(told[0], &c, 1) != 1)
		return 3;
	getppid();
	int fd = accept(door, NULL, NULL);
	if (!fork())
		_exit(serve(fd));
	close(fd);
	close(door);
	unlink("door");
	getppid();
	int first = ended(), second = ended();
	printf("status %d\n", first + second);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "pair"))
		return connection(strcmp(argv[1], "unix") ? AF_INET : AF_UNIX);
	return pair();
}
