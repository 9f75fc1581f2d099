/* open(2): a file of O_TMPFILE has no name until linkat gives it one; with O_EXCL it never gets one. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

static void name_it(int flags, const char *name)
{
	int fd = open(".", O_TMPFILE | O_RDWR | flags, 0640);
	char path[64];
	struct stat status;

	if (fd < 0 && errno == EOPNOTSUPP)
		skip("O_TMPFILE");
	MUST(fd >= 0);
	SAY(write(fd, "hello", 5));
	MUST(!fstat(fd, &status));
	printf("links %lu, size %ld\n", (unsigned long)status.st_nlink, (long)status.st_size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	SAY(linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW));
	MUST(!fstat(fd, &status));
	printf("links %lu\n", (unsigned long)status.st_nlink);
	SAY(access(name, R_OK));
	close(fd);
}

int main(void)
{
	name_it(0, "named");
	name_it(O_EXCL, "never");
	return 0;
}
