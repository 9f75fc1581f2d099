/* fcntl(2): record locks between processes: who holds one is told, ranges split, and a close of any descriptor lets go. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/wait.h>

static struct flock range(short type, off_t start, off_t length)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

static void ask(int fd, pid_t parent, off_t start, off_t length)
{
	struct flock lock = range(F_WRLCK, start, length);

	MUST(!fcntl(fd, F_GETLK, &lock));
	if (lock.l_type == F_UNLCK)
		printf("%ld+%ld free\n", (long)start, (long)length);
	else
		printf("%ld+%ld: type %d at %ld+%ld by the parent %d\n", (long)start, (long)length, lock.l_type,
		       (long)lock.l_start, (long)lock.l_len, lock.l_pid == parent);
}

int main(void)
{
	int fd = open("locked", O_RDWR | O_CREAT, 0600), up[2], down[2], status;
	struct flock lock = range(F_WRLCK, 0, 100);
	char c;

	MUST(fd >= 0 && !pipe(up) && !pipe(down));
	SAY(fcntl(fd, F_SETLK, &lock));
	lock = range(F_UNLCK, 40, 20);
	SAY(fcntl(fd, F_SETLK, &lock));
	lock = range(F_RDLCK, 70, 10);
	SAY(fcntl(fd, F_SETLK, &lock));
	pid_t parent = getpid(), child = fork();
	if (!child) {
		ask(fd, parent, 0, 10);
		ask(fd, parent, 45, 5);
		ask(fd, parent, 75, 1);
		ask(fd, parent, 90, 0);
		lock = range(F_RDLCK, 70, 10);
		SAY(fcntl(fd, F_SETLK, &lock));
		lock = range(F_WRLCK, 0, 1);
		SAY(fcntl(fd, F_SETLK, &lock));
		MUST(write(up[1], "u", 1) == 1);
		SAY(fcntl(fd, F_SETLKW, &lock));
		MUST(read(down[0], &c, 1) == 1);
		ask(fd, parent, 85, 1);
		fflush(stdout);
		_exit(0);
	}
	MUST(read(up[0], &c, 1) == 1);
	close(open("locked", O_RDONLY));
	MUST(write(down[1], "d", 1) == 1);
	MUST(waitpid(child, &status, 0) == child);
	lock = range(F_WRLCK, -1, 3);
	SAY(fcntl(fd, F_SETLK, &lock));
	lock = range(9, 0, 3);
	SAY(fcntl(fd, F_SETLK, &lock));
	return 0;
}
