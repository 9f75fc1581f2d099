/* pty(7): canonical mode: lines, erase, kill, end of file, echo and output processing. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

static int master, slave;

/* Input comes some time after the write. */
static void show(const char *what, int fd, size_t wanted)
{
	struct pollfd polled = {fd, POLLIN, 0};
	char text[128];
	size_t n = 0;

	do {
		MUST(poll(&polled, 1, -1) == 1);
		ssize_t more = read(fd, text + n, sizeof text - n);
		MUST(more >= 0);
		n += (size_t)more;
	} while (n < wanted);
	printf("%s: %zu", what, n);
	for (size_t i = 0; i < n; i++)
		printf(text[i] < 32 ? " \\%02x" : " %c", text[i]);
	putchar('\n');
}

int main(void)
{
	struct termios t;
	int n, unlock = 1;
	char *name;

	MUST((master = posix_openpt(O_RDWR | O_NOCTTY)) >= 0 && (name = ptsname(master)));
	SAY(open(name, O_RDWR | O_NOCTTY)); /* still locked */
	MUST(!ioctl(master, TIOCSPTLCK, &(int){0}) && !ioctl(master, TIOCGPTLCK, &unlock));
	SAY(unlock);
	MUST((slave = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK)) >= 0);
	SAY(isatty(slave));
	SAY(isatty(master));
	MUST(!tcgetattr(slave, &t));
	printf("icanon %d echo %d opost %d eof %d\n", !!(t.c_lflag & ICANON), !!(t.c_lflag & ECHO),
	       !!(t.c_oflag & OPOST), t.c_cc[VEOF]);
	SAY(write(master, "abc", 3));
	show("echo", master, 3);
	SAY(read(slave, &t, 1)); /* no line yet */
	SAY(write(master,
		  "\x7f"
		  "d\n",
		  3));
	show("slave", slave, 4);
	show("echo", master, 6);
	SAY(write(master, "gone\x15kept\r", 10));
	show("slave", slave, 5);
	show("echo", master, 22);
	SAY(write(master, "no end\x04", 7));
	show("slave", slave, 6);
	show("echo", master, 6);
	SAY(write(master, "\x04", 1));
	show("slave", slave, 0);
	SAY(write(slave, "out\n", 4));
	show("master", master, 5);
	SAY(write(master, "one\ntwo\n", 8));
	show("echo", master, 10);
	MUST(!ioctl(slave, FIONREAD, &n));
	SAY(n);
	show("slave", slave, 4);
	show("slave", slave, 4);
	SAY(tcflush(slave, TCIOFLUSH));
	return 0;
}
