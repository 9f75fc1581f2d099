/* utimensat(2): UTIME_NOW, UTIME_OMIT, NULL, links themselves, nanoseconds out of range. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <utime.h>

static void show(const char *name)
{
	struct stat s;

	MUST(!lstat(name, &s));
	printf("%s: %ld.%09ld %ld.%09ld\n", name, s.st_atim.tv_sec < 1500000000 ? s.st_atim.tv_sec : -1,
	       s.st_atim.tv_sec < 1500000000 ? s.st_atim.tv_nsec : 0,
	       s.st_mtim.tv_sec < 1500000000 ? s.st_mtim.tv_sec : -1,
	       s.st_mtim.tv_sec < 1500000000 ? s.st_mtim.tv_nsec : 0);
}

int main(void)
{
	struct timespec both[2] = {{1000, 1}, {2000, 999999999}}, omit[2] = {{9, UTIME_OMIT}, {5, UTIME_OMIT}};
	struct timespec mixed[2] = {{77, UTIME_OMIT}, {88, UTIME_NOW}}, bad[2] = {{1, 1000000000}, {1, -1}};
	struct timespec old[2] = {{-5, 500}, {-1000000, 0}};
	struct timeval micro[2] = {{10, 20}, {30, 999999}};
	struct utimbuf seconds = {111, 222};
	int fd;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !symlink("file", "link"));
	SAY(utimensat(AT_FDCWD, "file", both, 0));
	show("file");
	SAY(utimensat(AT_FDCWD, "link", old, AT_SYMLINK_NOFOLLOW));
	show("link");
	show("file");
	SAY(futimens(fd, omit));
	show("file");
	SAY(utimensat(AT_FDCWD, "link", mixed, 0));
	show("file");
	SAY(futimens(fd, bad));
	SAY(utimensat(AT_FDCWD, "absent", omit, 0));
	SAY(utimes("file", micro));
	show("file");
	SAY(utime("file", &seconds));
	show("file");
	SAY(lutimes("link", micro));
	show("link");
	micro[0].tv_usec = 1000000;
	SAY(utimes("file", micro));
	SAY(futimens(fd, NULL));
	show("file");
	SAY(futimens(99, NULL));
	SAY(utimensat(AT_FDCWD, "file", both, 1));
	SAY(utimensat(fd, "", both, AT_EMPTY_PATH));
	return 0;
}
