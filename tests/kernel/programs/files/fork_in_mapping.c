/* fork(2): a shared file mapping is shared with the child, a private one is not, MADV_WIPEONFORK is for neither. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600), status;

	MUST(fd >= 0 && !ftruncate(fd, 4096 * 3));
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
	char *wiped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED && private != MAP_FAILED && wiped != MAP_FAILED);
	strcpy(shared, "shared");
	strcpy(private, "private");
	strcpy(wiped, "wiped");
	SAY(madvise(wiped, 4096, MADV_WIPEONFORK));
	SAY(madvise(shared, 4096, MADV_WIPEONFORK));
	fflush(stdout);
	if (!fork()) {
		printf("%s %s [%s]\n", shared, private, wiped);
		strcpy(shared, "of the child");
		strcpy(private, "of the child");
		fflush(stdout);
		_exit(5);
	}
	MUST(wait(&status) > 0);
	SAY(WEXITSTATUS(status));
	printf("%s, %s, %s\n", shared, private, wiped);
	return 0;
}
