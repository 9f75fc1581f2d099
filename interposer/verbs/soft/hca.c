#include "hca.h"
#include <errno.h>

struct hca hca = {.listener = -1, .epoll = -1};

int hca_keep(int fd)
{
	if (fd < 0)
		return -errno;
	return hca.above->keep_descriptor ? hca.above->keep_descriptor(fd) : fd;
}
