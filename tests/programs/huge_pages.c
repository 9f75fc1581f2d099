/* Asks for huge pages, and does without. */
#include "calls.h"
#include <sys/mman.h>

int main(void)
{
	const size_t len = 2 << 20;
	const int fd = memfd_create("huge", MFD_HUGETLB);
	NEED(fd >= 0 || errno == ENOSYS || errno == ENODEV);
	for (int flags = MAP_SHARED; fd >= 0 && flags <= MAP_PRIVATE; flags++) {
		NEED(ftruncate(fd, (off_t)len) == 0);
		char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
		NEED(p != MAP_FAILED || errno == ENOMEM);
		if (p != MAP_FAILED)
			p[len - 1] = 1;
	}
	/* mmap(2): only a file of huge pages can be mapped so */
	const int plain = memfd_create("plain", 0);
	NEED(plain >= 0 && ftruncate(plain, (off_t)len) == 0);
	for (int flags = MAP_SHARED; flags <= MAP_SHARED_VALIDATE; flags++)
		NEED(mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, plain, 0) == MAP_FAILED &&
		     errno == EINVAL);
	puts("done");
	return 0;
}
