/* open(2): which flags together are errors on which kinds of file, and O_TRUNC with O_RDONLY. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	struct stat status;
	int fd;

	MUST(!symlink("nowhere", "dangling") && !mkdir("dir", 0700) && !symlink("dir", "todir"));
	OK(fd = open("file", O_CREAT | O_EXCL | O_WRONLY, 0600));
	SAY(write(fd, "twelve bytes", 12));
	SAY(close(fd));
	SAY(open("file", O_CREAT | O_EXCL | O_WRONLY, 0600));
	SAY(open("dangling", O_CREAT | O_EXCL | O_WRONLY, 0600));
	SAY(open("dangling", O_RDONLY));
	SAY(open("dangling", O_RDONLY | O_NOFOLLOW));
	SAY(open("file", O_RDONLY | O_DIRECTORY));
	SAY(open("file/", O_RDONLY));
	SAY(open("dir", O_WRONLY));
	SAY(open("dir", O_RDWR));
	SAY(open("dir", O_RDONLY | O_CREAT, 0600));
	SAY(open("new", O_RDONLY | O_CREAT | O_DIRECTORY, 0600));
	SAY(open("todir", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
	SAY(open("", O_RDONLY));
	SAY(open("absent/file", O_CREAT | O_WRONLY, 0600));
	OK(fd = open("dangling", O_CREAT | O_WRONLY, 0600));
	SAY(close(fd));
	SAY(access("nowhere", F_OK));
	OK(fd = open("file", O_RDONLY | O_TRUNC));
	SAY(fstat(fd, &status));
	printf("size %ld\n", (long)status.st_size);
	SAY(write(fd, "x", 1));
	SAY(close(fd));
	return 0;
}
