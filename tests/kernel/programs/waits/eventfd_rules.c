/* eventfd(2): the counter adds up, a semaphore gives ones, the largest value blocks, small buffers fail. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>

static void show(int fd)
{
	struct pollfd one = {fd, POLLIN | POLLOUT, 0};
	uint64_t value = 7777;
	ssize_t got = read(fd, &value, sizeof value);

	printf("%zd %s %lu", got, got < 0 ? strerrorname_np(errno) : "", (unsigned long)value);
	poll(&one, 1, 0);
	printf(" poll %x\n", one.revents);
}

int main(void)
{
	uint64_t value = 3;
	int fd = eventfd(2, EFD_NONBLOCK), semaphore = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE | EFD_CLOEXEC);

	MUST(fd >= 0 && semaphore >= 0);
	SAY(write(fd, &value, 8));
	show(fd);
	show(fd);
	for (int i = 0; i < 3; i++)
		show(semaphore);
	value = UINT64_MAX;
	SAY(write(fd, &value, 8));
	value = UINT64_MAX - 1;
	SAY(write(fd, &value, 8));
	value = 1;
	SAY(write(fd, &value, 8));
	struct pollfd one = {fd, POLLIN | POLLOUT, 0};
	SAY(poll(&one, 1, 0));
	printf("%x\n", one.revents);
	value = 0;
	SAY(write(fd, &value, 8));
	show(fd);
	SAY(write(fd, &value, 7));
	SAY(read(fd, &value, 4));
	SAY(eventfd(0, 0x1234));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(eventfd_write(fd, 9));
	SAY(eventfd_read(fd, &value));
	printf("%lu\n", (unsigned long)value);
	return 0;
}
