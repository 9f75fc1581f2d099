/* link(2): hard links share everything; which links cannot be made. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	struct stat a, b;
	char path[64];
	int fd;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !mkdir("dir", 0700) && !symlink("file", "sym"));
	MUST(!symlink("absent", "dangling"));
	SAY(link("file", "second"));
	MUST(!chmod("second", 0640) && !stat("file", &a) && !stat("second", &b));
	printf("%d, links %lu, mode %o\n", a.st_ino == b.st_ino, (unsigned long)a.st_nlink, a.st_mode & 07777);
	SAY(link("file", "second"));
	SAY(link("dir", "dir2"));
	SAY(link("absent", "x"));
	SAY(link("file", "absent/x"));
	SAY(link("/proc/self/status", "x"));
	SAY(link("sym", "sym2"));
	MUST(!lstat("sym2", &b));
	printf("a link: %d\n", S_ISLNK(b.st_mode));
	SAY(linkat(AT_FDCWD, "sym", AT_FDCWD, "third", AT_SYMLINK_FOLLOW));
	MUST(!lstat("third", &b));
	printf("a file: %d\n", S_ISREG(b.st_mode));
	SAY(linkat(AT_FDCWD, "dangling", AT_FDCWD, "x", AT_SYMLINK_FOLLOW));
	SAY(linkat(AT_FDCWD, "file", AT_FDCWD, "x", 1));
	SAY(linkat(fd, "file", AT_FDCWD, "x", 0));
	MUST(!unlink("file") && !unlink("second") && !unlink("third"));
	MUST(!fstat(fd, &a));
	printf("links %lu\n", (unsigned long)a.st_nlink);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	SAY(linkat(AT_FDCWD, path, AT_FDCWD, "back", AT_SYMLINK_FOLLOW));
	return 0;
}
