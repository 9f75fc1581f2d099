/* openat(2): a folder descriptor stays valid when the folder is renamed; relative calls of every kind. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char text[32] = "";
	struct stat s;
	int dir, fd;

	MUST(!mkdir("first", 0700) && (dir = open("first", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
	MUST(!rename("first", "second"));
	MUST((fd = openat(dir, "file", O_CREAT | O_EXCL | O_RDWR, 0600)) >= 0);
	SAY(access("second/file", F_OK));
	SAY(mkdirat(dir, "sub", 0700));
	SAY(symlinkat("file", dir, "link"));
	SAY(readlinkat(dir, "link", text, sizeof text));
	puts(text);
	SAY(linkat(dir, "file", dir, "sub/hard", 0));
	SAY(renameat(dir, "sub/hard", AT_FDCWD, "moved"));
	SAY(mknodat(dir, "fifo", S_IFIFO | 0600, 0));
	SAY(fchmodat(dir, "file", 0644, 0));
	SAY(fstatat(dir, "link", &s, 0));
	printf("%o %lu\n", s.st_mode & 0777, (unsigned long)s.st_nlink);
	SAY(openat(fd, "x", O_RDONLY));
	SAY(openat(99, "x", O_RDONLY));
	SAY(openat(99, "/dev/null", O_RDONLY) >= 0);
	SAY(openat(dir, "../moved", O_RDONLY) >= 0);
	SAY(openat(dir, "..", O_RDONLY | O_DIRECTORY) >= 0);
	SAY(openat(dir, "", O_RDONLY));
	SAY(fchdir(dir));
	SAY(access("sub", F_OK));
	SAY(unlinkat(dir, "sub", AT_REMOVEDIR));
	SAY(faccessat(dir, "sub", F_OK, 0));
	DIR *list = fdopendir(dir);
	int n = 0;
	while (readdir(list))
		n++;
	SAY(n);
	SAY(closedir(list));
	SAY(fstatat(dir, "file", &s, 0));
	return 0;
}
