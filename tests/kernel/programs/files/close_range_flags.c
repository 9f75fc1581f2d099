/* close_range(2): CLOSE_RANGE_CLOEXEC only marks; CLOSE_RANGE_UNSHARE leaves the other thread's table alone. */
#include "../observe.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>

static int first, last;

static void *other(void *arg)
{
	(void)arg;
	SAY(close_range(first, last, CLOSE_RANGE_UNSHARE));
	for (int fd = first; fd <= last; fd++)
		SAY(fcntl(fd, F_GETFD));
	return NULL;
}

int main(void)
{
	pthread_t thread;

	MUST((first = fcntl(0, F_DUPFD, 10)) >= 0 && dup2(0, first + 1) >= 0 && dup2(0, first + 2) >= 0);
	last = first + 2;
	SAY(close_range(first, first + 1, CLOSE_RANGE_CLOEXEC));
	for (int fd = first; fd <= last; fd++)
		SAY(fcntl(fd, F_GETFD));
	SAY(close_range(last, first, 0));
	SAY(close_range(first, last, 128));
	MUST(!pthread_create(&thread, NULL, other, NULL) && !pthread_join(thread, NULL));
	for (int fd = first; fd <= last; fd++)
		SAY(fcntl(fd, F_GETFD));
	SAY(close_range(first, ~0U, 0));
	for (int fd = first; fd <= last; fd++)
		SAY(fcntl(fd, F_GETFD));
	SAY(open("file", O_CREAT | O_RDWR, 0600) < first);
	return 0;
}
