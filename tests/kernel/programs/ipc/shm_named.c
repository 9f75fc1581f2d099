/* shm_overview(7): a named segment between processes: opened by name, truncated, written, mapped read-only, unlinked. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

int main(void)
{
	char name[40];
	struct stat about;
	int status;

	snprintf(name, sizeof name, "/observe-s-%d", getpid());
	int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	MUST(fd >= 0);
	SAY(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	SAY(ftruncate(fd, 10000));
	char *map = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(map != MAP_FAILED);
	strcpy(map + 9000, "first");
	pid_t child = fork();
	MUST(child >= 0);
	if (!child) {
		int again = shm_open(name, O_RDONLY, 0);
		char *only = mmap(NULL, 10000, PROT_READ, MAP_SHARED, again, 0);
		MUST(only != MAP_FAILED);
		printf("child: %s\n", only + 9000);
		SAY(mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED);
		strcpy(map + 5000, "second");
		SAY(shm_unlink(name));
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("%s\n", map + 5000);
	SAY(shm_open(name, O_RDWR, 0));
	SAY(shm_unlink(name));
	memset(name, 0, sizeof name);
	SAY(pread(fd, name, 6, 5000));
	MUST(!fstat(fd, &about));
	printf("links %lu size %ld %s\n", (unsigned long)about.st_nlink, (long)about.st_size, name);
	return 0;
}
