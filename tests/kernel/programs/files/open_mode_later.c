/* open(2): the mode of a created file counts for later opens only; the call that creates it may write. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	struct stat status;
	int fd, other, both;
	char byte = 0;

	umask(027);
	OK(fd = open("file", O_CREAT | O_EXCL | O_RDWR, 0444));
	SAY(write(fd, "text", 4));
	MUST(!fstat(fd, &status));
	printf("mode %o\n", status.st_mode & 07777);
	OK(other = open("file", O_CREAT | O_RDONLY, 0777));
	MUST(!fstat(other, &status));
	printf("mode %o\n", status.st_mode & 07777);
	SAY(read(other, &byte, 1));
	SAY(write(other, &byte, 1));
	/* the access mode 3: Linux checks both permissions and allows neither reading nor writing */
	OK(both = open("file", 3));
	SAY(fcntl(both, F_GETFL) & O_ACCMODE);
	SAY(read(both, &byte, 1));
	SAY(write(both, &byte, 1));
	SAY(fchmod(both, 0600));
	printf("umask %o\n", umask(0));
	OK(creat("second", 06777));
	MUST(!stat("second", &status));
	printf("mode %o\n", status.st_mode & 07777);
	return 0;
}
