/* inode(7): which calls change which of a file's times. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

static const struct timespec past[2] = {{1000, 0}, {1000, 0}};

static void show(const char *what, const char *name)
{
	struct stat s;

	MUST(!stat(name, &s));
	printf("%s: access %s, change %s\n", what, s.st_atime == 1000 ? "kept" : "new",
	       s.st_mtime == 1000 ? "kept" : "new");
	MUST(!utimensat(AT_FDCWD, name, past, 0));
}

int main(void)
{
	char byte[2];
	int fd;

	MUST(!mkdir("dir", 0700) && (fd = open("dir/file", O_CREAT | O_RDWR, 0600)) >= 0);
	show("made", "dir/file");
	show("made in it", "dir");
	MUST(write(fd, "x", 1) == 1);
	show("write", "dir/file");
	MUST(write(fd, "x", 0) == 0);
	show("write of nothing", "dir/file");
	MUST(!chmod("dir/file", 0640));
	show("chmod", "dir/file");
	MUST(!link("dir/file", "dir/second"));
	show("link", "dir/file");
	show("link in it", "dir");
	MUST(!rename("dir/second", "dir/third"));
	show("rename", "dir/third");
	show("rename in it", "dir");
	MUST(!ftruncate(fd, 0));
	show("truncate", "dir/file");
	MUST(!unlink("dir/third"));
	show("unlink", "dir/file");
	show("unlink in it", "dir");
	MUST(!close(open("dir/file", O_WRONLY | O_TRUNC)));
	show("O_TRUNC", "dir/file");
	MUST((fd = open("dir/file", O_RDWR | O_NOATIME)) >= 0 && write(fd, "ab", 2) == 2);
	show("write again", "dir/file");
	MUST(pread(fd, byte, 1, 0) == 1);
	show("read with O_NOATIME", "dir/file");
	return 0;
}
