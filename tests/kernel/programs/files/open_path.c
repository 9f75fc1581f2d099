/* open(2): what a descriptor of O_PATH can do, and what fails with EBADF. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

int main(void)
{
	struct stat status;
	struct statfs fs;
	char text[64] = "", path[64];
	int fd, link, dir, again, file;

	MUST(!mkdir("dir", 0700) && !symlink("dir/file", "link"));
	OK(file = open("dir/file", O_CREAT | O_WRONLY, 0600));
	SAY(write(file, "content", 7));
	OK(fd = open("dir/file", O_PATH | O_RDWR | O_TRUNC));
	printf("flags %s\n", fcntl(fd, F_GETFL) == O_PATH ? "O_PATH alone" : "others too");
	SAY(read(fd, text, 1));
	SAY(write(fd, text, 1));
	SAY(lseek(fd, 0, SEEK_SET));
	SAY(fchmod(fd, 0700));
	SAY(fsync(fd));
	SAY(ioctl(fd, FIONREAD, text));
	SAY(fgetxattr(fd, "user.a", text, 1));
	SAY(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
	SAY(ftruncate(fd, 0));
	SAY(fstat(fd, &status));
	SAY(status.st_size);
	SAY(fstatfs(fd, &fs));
	SAY(fcntl(fd, F_GETFD));
	OK(dup(fd));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	OK(again = open(path, O_RDONLY));
	SAY(read(again, text, sizeof text));
	OK(link = open("link", O_PATH | O_NOFOLLOW));
	SAY(fstat(link, &status));
	printf("a link: %d\n", S_ISLNK(status.st_mode));
	memset(text, 0, sizeof text);
	SAY(readlinkat(link, "", text, sizeof text));
	puts(text);
	OK(dir = open("dir", O_PATH));
	SAY(faccessat(dir, "file", R_OK, 0));
	SAY(fchdir(dir));
	SAY(access("file", F_OK));
	SAY(fchownat(fd, "", -1, -1, AT_EMPTY_PATH));
	return 0;
}
