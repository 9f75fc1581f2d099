/* termios(3): the interrupt, quit and suspend characters send signals to the foreground group; SIGWINCH on a new size. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

static int master, out;

static void handler(int number)
{
	char byte = (char)number;
	MUST(write(out, &byte, 1) == 1);
}

static void child(void)
{
	struct winsize size = {.ws_row = 5};
	const int numbers[] = {SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGHUP};
	int slave;

	MUST(setsid() > 0 && (slave = open(ptsname(master), O_RDWR)) >= 0);
	SAY(tcgetpgrp(slave) == getpgrp());
	SAY(tcgetsid(slave) == getpid());
	SAY(open("/dev/tty", O_RDWR) >= 0);
	SAY(ioctl(slave, TIOCSWINSZ, &size));
	close(master);
	for (int i = 0; i < 5; i++)
		signal(numbers[i], handler);
	MUST(write(out, "x", 1) == 1);
	for (;;)
		pause();
}

int main(void)
{
	struct winsize size = {.ws_row = 50};
	char byte;
	int two[2], status;

	MUST((master = posix_openpt(O_RDWR | O_NOCTTY)) >= 0 && !grantpt(master) && !unlockpt(master) && !pipe(two));
	out = two[1];
	fflush(stdout);
	pid_t other = fork();
	if (!other)
		child();
	MUST(read(two[0], &byte, 1) == 1);
	for (const char *key = "\x03\x1c\x1a"; *key; key++) {
		MUST(write(master, key, 1) == 1 && read(two[0], &byte, 1) == 1);
		printf("%d\n", byte);
	}
	MUST(!ioctl(master, TIOCSWINSZ, &size) && read(two[0], &byte, 1) == 1);
	printf("%d\n", byte);
	MUST(!ioctl(master, TIOCSWINSZ, &size)); /* the same size: no signal */
	SAY(close(master));
	MUST(read(two[0], &byte, 1) == 1);
	printf("%d\n", byte);
	MUST(!kill(other, SIGTERM) && waitpid(other, &status, 0) == other);
	printf("%d\n", WTERMSIG(status));
	return 0;
}
