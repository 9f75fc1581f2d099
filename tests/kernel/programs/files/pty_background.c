/* tcsetpgrp(3): a background group that reads gets SIGTTIN, that writes with TOSTOP or sets the terminal SIGTTOU. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

static int slave;

static int stopped(void (*act)(void))
{
	int status;
	pid_t other = fork();

	if (!other) {
		MUST(!setpgid(0, 0));
		act();
		_exit(0);
	}
	MUST(waitpid(other, &status, WUNTRACED) == other);
	if (!WIFSTOPPED(status))
		return WEXITSTATUS(status);
	const int by = WSTOPSIG(status);
	MUST(!kill(other, SIGKILL) && waitpid(other, &status, 0) == other);
	return by;
}

static void reads(void)
{
	char byte;
	read(slave, &byte, 1) < 0 ? _exit(errno) : _exit(0);
}

static void writes(void)
{
	write(slave, "x", 1) < 0 ? _exit(errno) : _exit(0);
}

static void sets(void)
{
	struct termios t;
	MUST(!tcgetattr(slave, &t));
	tcsetattr(slave, TCSANOW, &t) < 0 ? _exit(errno) : _exit(0);
}

static void takes(void)
{
	tcsetpgrp(slave, getpgrp()) < 0 ? _exit(errno) : _exit(0);
}

static void ignoring_reads(void)
{
	signal(SIGTTIN, SIG_IGN);
	reads();
}

static void ignoring_takes(void)
{
	signal(SIGTTOU, SIG_IGN);
	takes();
}

int main(void)
{
	struct termios t;
	int master;

	if (getpid() == getsid(0)) /* else it cannot make a session */
		skip("a session of its own");
	MUST(getpid() != getpgrp() || fork() == 0 || waitpid(-1, NULL, 0) < 0 || (exit(0), 0));
	MUST(setsid() > 0 && (master = posix_openpt(O_RDWR | O_NOCTTY)) >= 0 && !grantpt(master) && !unlockpt(master));
	MUST((slave = open(ptsname(master), O_RDWR)) >= 0);
	signal(SIGHUP, SIG_IGN);
	SAY(tcgetpgrp(slave) == getpgrp());
	SAY(stopped(reads));
	SAY(stopped(writes));
	MUST(!tcgetattr(slave, &t));
	t.c_lflag |= TOSTOP;
	MUST(!tcsetattr(slave, TCSANOW, &t));
	SAY(stopped(writes));
	SAY(stopped(sets));
	SAY(stopped(takes));
	SAY(stopped(ignoring_reads) == EIO);
	SAY(stopped(ignoring_takes));
	signal(SIGTTOU, SIG_IGN);
	SAY(tcgetpgrp(slave) == getpgrp());
	SAY(tcsetpgrp(slave, getpgrp()));
	SAY(tcsetpgrp(slave, 0x3fffff));
	return 0;
}
