/* fcntl(2): write hints of the inode, F_DUPFD_QUERY, and commands that need a lock or a pipe. */
#include "../observe.h"
#include <fcntl.h>
#include <stdint.h>

#ifndef F_GET_RW_HINT
#define F_GET_RW_HINT 1035
#define F_SET_RW_HINT 1036
#endif

int main(void)
{
	uint64_t hint = 3, got = 9, bad = 77;
	int fd, other, two[2];

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && (other = open("file", O_RDONLY)) >= 0 && !pipe(two));
	SAY(fcntl(fd, F_GET_RW_HINT, &got));
	SAY((long)got);
	SAY(fcntl(fd, F_SET_RW_HINT, &hint));
	SAY(fcntl(other, F_GET_RW_HINT, &got));
	SAY((long)got);
	SAY(fcntl(fd, F_SET_RW_HINT, &bad));
	SAY(fcntl(fd, F_SET_RW_HINT, NULL));
	SAY(fcntl(fd, F_GETPIPE_SZ));
	SAY(fcntl(fd, F_SETFL, O_ASYNC | O_NOATIME | O_APPEND));
	printf("%x\n", fcntl(fd, F_GETFL) & (O_NOATIME | O_APPEND));
	SAY(fcntl(fd, 1027, fd)); /* F_DUPFD_QUERY, Linux 6.10 */
	SAY(fcntl(fd, 1027, other));
	SAY(fcntl(fd, F_GETLK, NULL));
	SAY(fcntl(fd, F_SETFD, 6));
	SAY(fcntl(fd, F_GETFD));
	SAY(fcntl(99, F_GETFD));
	SAY(fcntl(-1, F_DUPFD, 0));
	return 0;
}
