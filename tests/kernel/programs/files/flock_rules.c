/* flock(2): the lock belongs to the open file: dup and fork share it, a second open does not; a signal ends waiting. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

static int other;

static void alarmed(int signal)
{
	(void)signal;
	SAY(flock(other, LOCK_SH | LOCK_NB));
}

int main(void)
{
	int fd, same, status;

	MUST((fd = open("file", O_CREAT | O_RDONLY, 0600)) >= 0 && (other = open("file", O_RDWR)) >= 0);
	MUST((same = dup(fd)) >= 0);
	SAY(flock(fd, LOCK_EX));
	SAY(flock(same, LOCK_EX | LOCK_NB));
	SAY(flock(other, LOCK_SH | LOCK_NB));
	if (!fork()) {
		SAY(flock(fd, LOCK_SH | LOCK_NB));
		SAY(flock(other, LOCK_SH | LOCK_NB));
		SAY(flock(other, LOCK_UN));
		SAY(flock(fd, LOCK_EX));
		_exit(0);
	}
	MUST(wait(&status) > 0);
	struct sigaction action = {.sa_handler = alarmed};
	sigaction(SIGALRM, &action, NULL);
	ualarm(20000, 20000); /* again and again: the first may come before the wait */
	SAY(flock(other, LOCK_EX));
	ualarm(0, 0);
	SAY(close(fd));
	SAY(flock(other, LOCK_EX | LOCK_NB));
	SAY(flock(same, LOCK_UN));
	SAY(flock(other, LOCK_EX | LOCK_NB));
	SAY(flock(other, LOCK_SH | LOCK_EX));
	SAY(flock(99, LOCK_SH));
	struct flock posix = {.l_type = F_WRLCK};
	SAY(fcntl(other, F_SETLK, &posix));
	return 0;
}
