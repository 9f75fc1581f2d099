/* unix(7): path, abstract and unnamed addresses and what getsockname and getpeername tell of them. */
#include "../observe.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void show(const char *what, int fd, int (*ask)(int, struct sockaddr *, socklen_t *))
{
	struct sockaddr_un name;
	socklen_t length = sizeof name;

	memset(&name, 'Z', sizeof name);
	if (ask(fd, (struct sockaddr *)&name, &length)) {
		printf("%s: %s\n", what, strerrorname_np(errno));
		return;
	}
	printf("%s: family %d length %u '", what, name.sun_family, length);
	for (unsigned i = 0; i + 2 < length && i < sizeof name.sun_path; i++)
		printf("%c", name.sun_path[i] ? name.sun_path[i] : '@');
	printf("'\n");
}

int main(void)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "here"}, hidden = {.sun_family = AF_UNIX};
	int a = socket(AF_UNIX, SOCK_STREAM, 0), b = socket(AF_UNIX, SOCK_STREAM, 0), c, d;
	int auto_bound = socket(AF_UNIX, SOCK_DGRAM, 0);
	socklen_t hidden_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 8);
	struct stat status;

	memcpy(hidden.sun_path, "\0ab\0cd\0e", 8);
	MUST(a >= 0 && b >= 0);
	show("unbound", a, getsockname);
	SAY(bind(a, (void *)&path, sizeof path));
	SAY(bind(a, (void *)&path, sizeof path));
	SAY(bind(b, (void *)&path, sizeof path));
	show("bound", a, getsockname);
	SAY(stat("here", &status));
	printf("socket %d\n", S_ISSOCK(status.st_mode));
	SAY(connect(b, (void *)&path, sizeof path));
	SAY(listen(a, 3));
	SAY(connect(b, (void *)&path, sizeof path));
	c = accept(a, NULL, NULL);
	show("accepted", c, getsockname);
	show("its peer", c, getpeername);
	show("the peer's peer", b, getpeername);
	d = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	SAY(connect(d, (void *)&path, sizeof path));
	SAY(bind(d, (void *)&hidden, hidden_length));
	show("hidden", d, getsockname);
	SAY(listen(d, 1));
	SAY(bind(auto_bound, (void *)&hidden, sizeof hidden.sun_family));
	struct sockaddr_un got;
	socklen_t length = sizeof got;
	MUST(!getsockname(auto_bound, (void *)&got, &length));
	printf("autobind: length %u first %d\n", length, got.sun_path[0]);
	SAY(unlink("here"));
	int e = socket(AF_UNIX, SOCK_STREAM, 0);
	SAY(connect(e, (void *)&path, sizeof path));
	length = 4;
	SAY(getsockname(c, (void *)&got, &length));
	printf("needs %u\n", length);
	length = (socklen_t)-1;
	SAY(getsockname(c, (void *)&got, &length));
	return 0;
}
