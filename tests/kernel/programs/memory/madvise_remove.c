/* madvise(2): MADV_REMOVE makes a hole in a shared mapping's object; EINVAL or EACCES for others. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	char *shared = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("m", 0);
	char *m, c;

	MUST(shared != MAP_FAILED && own != MAP_FAILED && fd >= 0 && !ftruncate(fd, 8192));
	memset(shared, 'x', 3 * 4096);
	SAY(madvise(shared + 4096, 4096, MADV_REMOVE));
	printf("%d %d %d\n", shared[0], shared[4096], shared[2 * 4096]);
	SAY(madvise(own, 4096, MADV_REMOVE));
	m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(m != MAP_FAILED);
	memset(m, 'y', 8192);
	SAY(madvise(m + 4096, 4096, MADV_REMOVE));
	MUST(pread(fd, &c, 1, 5000) == 1);
	printf("%d %d %d\n", m[0], m[4096], c);
	return 0;
}
