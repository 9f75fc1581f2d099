/* readv(2): IOV_MAX buffers are accepted, one more is EINVAL, as are lengths whose sum overflows. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/uio.h>

static struct iovec v[IOV_MAX + 1];
static char bytes[IOV_MAX + 1];

int main(void)
{
	int fd, sum = 0;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0);
	for (int i = 0; i <= IOV_MAX; i++) {
		bytes[i] = (char)(i % 100);
		v[i] = (struct iovec){bytes + IOV_MAX - i, 1};
	}
	SAY(writev(fd, v, IOV_MAX));
	SAY(writev(fd, v, IOV_MAX + 1));
	SAY(writev(fd, v, 0));
	for (int i = 0; i <= IOV_MAX; i++)
		v[i].iov_base = bytes + i;
	SAY(preadv(fd, v, IOV_MAX, 0));
	for (int i = 0; i < IOV_MAX; i++)
		sum += i * bytes[i];
	printf("%d\n", sum);
	SAY(preadv(fd, v, IOV_MAX + 1, 0));
	v[0].iov_len = SSIZE_MAX;
	v[1].iov_len = SSIZE_MAX;
	SAY(preadv(fd, v, 2, 5000));
	v[0].iov_len = (size_t)SSIZE_MAX + 1;
	SAY(preadv(fd, v, 1, 0));
	SAY(preadv(fd, v + 2, 3, -5));
	return 0;
}
