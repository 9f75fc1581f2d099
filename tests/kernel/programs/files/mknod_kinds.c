/* mknod(2): files, fifos and sockets by anyone; devices only by those who may; a socket file cannot be opened. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static void show(const char *name)
{
	struct stat s;

	MUST(!lstat(name, &s));
	printf("%s: %o, %u:%u\n", name, s.st_mode, major(s.st_rdev), minor(s.st_rdev));
}

int main(void)
{
	umask(0);
	SAY(mknod("file", S_IFREG | 0640, 77));
	show("file");
	SAY(mknod("plain", 0600, 0));
	show("plain");
	SAY(mknod("fifo", S_IFIFO | 0622, 0));
	show("fifo");
	SAY(mknod("socket", S_IFSOCK | 0600, 0));
	show("socket");
	SAY(open("socket", O_RDONLY));
	SAY(truncate("fifo", 0));
	SAY(mknod("dir", S_IFDIR | 0700, 0));
	SAY(mknod("link", S_IFLNK | 0700, 0));
	SAY(mknod("file", S_IFREG | 0600, 0));
	SAY(mknod("null", S_IFCHR | 0666, makedev(1, 3)));
	SAY(open("null", O_WRONLY) < 0);
	SAY(mknod("none", S_IFCHR | 0666, makedev(4095, 1048575)));
	SAY(open("none", O_RDONLY) < 0);
	SAY(mknodat(AT_FDCWD, "absent/x", S_IFIFO | 0600, 0));
	SAY(mkfifoat(AT_FDCWD, "", 0600));
	return 0;
}
