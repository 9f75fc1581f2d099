/* fcntl_locking(2): open file description locks: per open, shared over fork, pid -1, l_pid must be 0. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/wait.h>

int main(void)
{
	int fd, other, status;
	struct flock all = {.l_type = F_WRLCK}, ask = {.l_type = F_RDLCK}, bad = {.l_type = F_WRLCK, .l_pid = 1};

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && (other = open("file", O_RDWR)) >= 0);
	SAY(fcntl(fd, F_OFD_SETLK, &bad));
	SAY(fcntl(fd, F_OFD_SETLK, &all));
	SAY(fcntl(other, F_OFD_SETLK, &all));
	SAY(fcntl(other, F_OFD_GETLK, &ask));
	printf("type %d, pid %d\n", ask.l_type == F_WRLCK, ask.l_pid);
	SAY(fcntl(other, F_SETLK, &all)); /* the process' own lock conflicts, too */
	int same = dup(fd);
	SAY(fcntl(same, F_OFD_SETLK, &all));
	SAY(close(same));
	fflush(stdout);
	if (!fork()) {
		all.l_type = F_RDLCK;
		SAY(fcntl(fd, F_OFD_SETLK, &all));
		_exit(0);
	}
	MUST(wait(&status) > 0);
	ask = (struct flock){.l_type = F_RDLCK};
	SAY(fcntl(other, F_OFD_SETLK, &ask));
	ask = (struct flock){.l_type = F_WRLCK};
	SAY(fcntl(other, F_OFD_SETLK, &ask));
	SAY(close(fd));
	SAY(fcntl(other, F_OFD_SETLK, &ask));
	return 0;
}
