/* termios(3): raw mode with VMIN and VTIME, tcsetattr actions, TIOCSTI refused, speeds. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

int main(void)
{
	struct termios t, again;
	struct winsize size = {.ws_row = 7, .ws_col = 99}, got;
	char text[32];
	int master, slave;

	MUST((master = posix_openpt(O_RDWR | O_NOCTTY)) >= 0 && !grantpt(master) && !unlockpt(master));
	MUST((slave = open(ptsname(master), O_RDWR | O_NOCTTY)) >= 0 && !tcgetattr(slave, &t));
	cfmakeraw(&t);
	t.c_cc[VMIN] = 3;
	t.c_cc[VTIME] = 0;
	SAY(tcsetattr(slave, TCSADRAIN, &t));
	MUST(!tcgetattr(master, &again));
	printf("the same: %d\n", again.c_lflag == t.c_lflag && again.c_cc[VMIN] == 3);
	MUST(write(master, "ab", 2) == 2);
	struct pollfd polled = {slave, POLLIN, 0};
	SAY(poll(&polled, 1, 0));
	MUST(write(master, "\r\x03\x7f", 3) == 3);
	SAY(poll(&polled, 1, 0));
	SAY(read(slave, text, sizeof text));
	printf("%x %x %x\n", text[2], text[3], text[4]);
	t.c_cc[VMIN] = 0;
	SAY(tcsetattr(slave, TCSANOW, &t));
	SAY(read(slave, text, sizeof text));
	t.c_cc[VTIME] = 1;
	SAY(tcsetattr(slave, TCSAFLUSH, &t));
	SAY(read(slave, text, sizeof text)); /* a tenth of a second */
	SAY(cfsetspeed(&t, B38400));
	SAY(tcsetattr(slave, TCSANOW, &t));
	MUST(!tcgetattr(slave, &again));
	SAY(cfgetospeed(&again) == B38400);
	SAY(cfsetspeed(&t, 12345678));
	SAY(ioctl(master, TIOCSWINSZ, &size));
	MUST(!ioctl(slave, TIOCGWINSZ, &got));
	printf("%d x %d\n", got.ws_row, got.ws_col);
	SAY(tcgetattr(0, &t));
	SAY(tcsendbreak(slave, 0));
	SAY(tcdrain(slave));
	SAY(tcgetpgrp(slave));
	SAY(close(master));
	SAY(write(slave, "x", 1));
	SAY(read(slave, text, 1));
	SAY(tcgetattr(slave, &t));
	SAY(poll(&polled, 1, 0));
	printf("%x\n", polled.revents);
	return 0;
}
