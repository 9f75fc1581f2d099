/* pty(7): what one side writes the other reads through the line discipline; a hang-up, the window size and packet mode. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

int main(void)
{
	struct winsize size = {.ws_row = 11, .ws_col = 22}, got;
	struct termios settings;
	int master, slave, on = 1;
	char some[64] = "";

	if (openpty(&master, &slave, NULL, NULL, &size))
		skip("pty");
	SAY(ioctl(slave, TIOCGWINSZ, &got));
	printf("%d %d\n", got.ws_row, got.ws_col);
	SAY(write(master, "line\n", 5));
	SAY(read(slave, some, 64));
	memset(some, 0, sizeof some);
	SAY(read(master, some, 64)); /* echo, and a carriage return for the new line */
	SAY(write(master, "no end", 6));
	struct pollfd one = {slave, POLLIN, 0};
	SAY(poll(&one, 1, 0));
	SAY(write(master, "\x15oh\x04", 4)); /* kill the line, end of file */
	SAY(read(slave, some, 64));
	printf("%.2s\n", some);
	MUST(!tcgetattr(slave, &settings));
	cfmakeraw(&settings);
	SAY(tcsetattr(slave, TCSANOW, &settings));
	SAY(tcflush(master, TCIOFLUSH));
	SAY(ioctl(master, TIOCPKT, &on));
	SAY(write(slave, "raw", 3));
	SAY(read(master, some, 64));
	printf("%d %.3s\n", some[0], some + 1);
	SAY(isatty(slave));
	SAY(isatty(0));
	close(slave);
	on = 0;
	SAY(ioctl(master, TIOCPKT, &on));
	SAY(read(master, some, 64));
	return 0;
}
