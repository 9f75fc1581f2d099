/* chown(2): the set-user-ID and set-group-ID bits go when an ordinary user changes owner or writes. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

static void show(const char *what)
{
	struct stat s;

	MUST(!stat("file", &s));
	printf("%s: %o\n", what, s.st_mode & 07777);
	MUST(!chmod("file", 06755));
}

int main(void)
{
	int fd;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0755)) >= 0 && !chmod("file", 06755));
	if (!geteuid()) {
		MUST(!fchown(fd, 65534, 65534) && !chmod(".", 0777) && !setgid(65534) && !setuid(65534));
		MUST(!chmod("file", 06755));
	}
	show("made");
	MUST(write(fd, "x", 1) == 1);
	show("write");
	MUST(!ftruncate(fd, 0));
	show("ftruncate");
	MUST(!truncate("file", 10));
	show("truncate");
	MUST(!fchown(fd, -1, -1));
	show("fchown of nothing");
	MUST(!chown("file", -1, getegid()));
	show("chown");
	MUST(pwrite(fd, "y", 1, 3) == 1);
	show("pwrite");
	MUST(!close(open("file", O_WRONLY | O_TRUNC)));
	show("O_TRUNC");
	SAY(chmod("file", 02655));
	show("chmod");
	return 0;
}
