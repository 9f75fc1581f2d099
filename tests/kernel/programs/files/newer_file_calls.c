/* cachestat(2): statmount(2), listmount(2), file_getattr(2): answers on kernels that have them. */
#include "../observe.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int main(void)
{
	uint64_t range[2] = {0, 0}, pages[5], mounts[64];
	struct {
		uint32_t size, spare;
		uint64_t id, param, ns;
	} request = {24, 0, ~0ul, 0, 0};
	uint8_t attributes[24];
	int fd = open("file", O_CREAT | O_RDWR, 0600);

	MUST(fd >= 0 && write(fd, "0123456789", 10) == 10);
	long rc = syscall(451, fd, range, pages, 0);
	if (rc < 0 && errno == ENOSYS)
		skip("cachestat");
	SAY(rc);
	SAY((long)pages[0]);
	SAY(syscall(451, fd, range, pages, 1));
	SAY(syscall(451, 99, range, pages, 0));
	rc = syscall(458, &request, mounts, 64, 0);
	printf("mounts: %s\n", rc > 0 ? "some" : strerrorname_np(errno));
	SAY(syscall(458, &request, mounts, 64, 8) < 0);
	rc = syscall(468, AT_FDCWD, "file", attributes, sizeof attributes, 0);
	printf("attributes: %s\n", !rc ? "ok" : strerrorname_np(errno));
	SAY(syscall(468, AT_FDCWD, "file", attributes, 1, 0));
	return 0;
}
