/* ioctl_tty(2): TIOCPKT: reads of the master begin with a byte that says what happened; exclusive mode. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

static int master;

static void show(void)
{
	char text[32];
	ssize_t n = read(master, text, sizeof text);

	printf("%zd: %x %.*s\n", n, text[0], (int)n - 1, text + 1);
}

int main(void)
{
	int slave, on = 1;
	struct termios t;

	MUST((master = posix_openpt(O_RDWR | O_NOCTTY)) >= 0 && !grantpt(master) && !unlockpt(master));
	MUST((slave = open(ptsname(master), O_RDWR | O_NOCTTY)) >= 0 && !ioctl(master, TIOCPKT, &on));
	on = 0;
	SAY(ioctl(master, TIOCGPKT, &on));
	SAY(on);
	SAY(write(slave, "data", 4));
	show();
	SAY(tcflush(slave, TCIFLUSH));
	show();
	SAY(tcflow(slave, TCOOFF));
	show();
	SAY(tcflow(slave, TCOON));
	show();
	MUST(!tcgetattr(slave, &t));
	t.c_iflag &= ~(tcflag_t)IXON;
	SAY(tcsetattr(slave, TCSANOW, &t));
	show();
	SAY(ioctl(slave, TIOCEXCL));
	SAY(ioctl(slave, TIOCGEXCL, &on));
	SAY(on);
	SAY(open(ptsname(master), O_RDWR | O_NOCTTY) < 0 && geteuid());
	SAY(ioctl(slave, TIOCNXCL));
	SAY(ioctl(slave, TIOCNOTTY));
	SAY(ioctl(0, TIOCGPTN, &on));
	return 0;
}
