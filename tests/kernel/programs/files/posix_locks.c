/* fcntl_locking(2): locks of a process: split, merged, not inherited, and gone when any descriptor is closed. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/wait.h>

static int fd;

static long set(int type, long from, long length)
{
	struct flock lock = {.l_type = (short)type, .l_start = from, .l_len = length};
	return fcntl(fd, F_SETLK, &lock);
}

static void seen(long from, long length)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		struct flock lock = {.l_type = F_WRLCK, .l_start = from, .l_len = length};
		MUST(!fcntl(fd, F_GETLK, &lock));
		if (lock.l_type == F_UNLCK)
			printf("%ld+%ld: free\n", from, length);
		else
			printf("%ld+%ld: %s %ld+%ld, of the parent: %d\n", from, length,
			       lock.l_type == F_RDLCK ? "read" : "write", (long)lock.l_start, (long)lock.l_len,
			       lock.l_pid == getppid());
		fflush(stdout);
		_exit(0);
	}
	MUST(wait(&status) > 0);
}

int main(void)
{
	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0);
	SAY(set(F_WRLCK, 0, 100));
	SAY(set(F_RDLCK, 40, 20));
	seen(0, 1);
	seen(45, 1);
	seen(60, 1);
	SAY(set(F_UNLCK, 10, 10));
	seen(10, 10);
	seen(5, 50);
	SAY(set(F_WRLCK, 0, 0));
	seen(1000000, 1);
	SAY(set(F_UNLCK, 50, 0));
	seen(50, 0);
	SAY(set(F_WRLCK, -1, 5));
	SAY(set(77, 0, 5));
	struct flock back = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 80, .l_len = -10};
	SAY(fcntl(fd, F_SETLK, &back));
	seen(60, 100);
	SAY(close(dup(fd)));
	seen(0, 0);
	int reading = open("file", O_RDONLY);
	struct flock lock = {.l_type = F_WRLCK};
	SAY(fcntl(reading, F_SETLK, &lock));
	lock.l_type = F_RDLCK;
	SAY(fcntl(reading, F_SETLK, &lock));
	SAY(lockf(fd, F_TEST, 10));
	SAY(lockf(fd, F_TLOCK, 10));
	SAY(lockf(fd, 9, 10));
	return 0;
}
