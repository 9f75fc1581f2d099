/* dup(2): duplicates share the offset and the status flags, but not FD_CLOEXEC. */
#include "../observe.h"
#include <fcntl.h>

int main(void)
{
	int a, b, c;

	MUST((a = open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0600)) >= 0);
	MUST((b = dup(a)) >= 0);
	SAY(fcntl(a, F_GETFD));
	SAY(fcntl(b, F_GETFD));
	SAY(write(a, "hello", 5));
	SAY(lseek(b, 0, SEEK_CUR));
	SAY(fcntl(b, F_SETFL, O_APPEND | O_NONBLOCK));
	printf("%x\n", fcntl(a, F_GETFL) & (O_APPEND | O_NONBLOCK));
	SAY(lseek(a, 0, SEEK_SET));
	SAY(write(a, "!", 1));
	SAY(lseek(b, 0, SEEK_END));
	MUST((c = open("file", O_RDONLY)) >= 0);
	SAY(lseek(c, 0, SEEK_CUR));
	SAY(fcntl(c, F_GETFL) & (O_APPEND | O_NONBLOCK));
	SAY(dup2(a, a) == a);
	SAY(dup2(-1, b));
	SAY(dup2(99, 99));
	SAY(dup3(a, a, 0));
	SAY(dup3(a, 20, O_APPEND));
	SAY(dup3(a, 20, O_CLOEXEC));
	SAY(fcntl(20, F_GETFD));
	SAY(dup2(c, 20));
	SAY(fcntl(20, F_GETFD));
	SAY(fcntl(20, F_SETFD, FD_CLOEXEC));
	SAY(fcntl(20, F_GETFD));
	SAY(fcntl(a, F_DUPFD, 20));
	SAY(fcntl(a, F_DUPFD_CLOEXEC, 20));
	SAY(fcntl(22, F_GETFD));
	SAY(fcntl(a, F_DUPFD, -1));
	SAY(fcntl(a, 4711));
	SAY(close(a));
	SAY(write(b, "!", 1));
	return 0;
}
