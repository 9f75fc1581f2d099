/* proc(5): files of /proc/sys are read in one piece; which can be written; unknown ones. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char text[64], again[64];
	struct stat s;
	int fd = open("/proc/sys/kernel/ostype", O_RDONLY);

	MUST(fd >= 0);
	SAY(read(fd, text, 3));
	SAY(read(fd, text + 3, 60));
	printf("%.6s", text);
	SAY(lseek(fd, 2, SEEK_SET));
	SAY(read(fd, again, 10));
	SAY(pread(fd, again, 10, 6));
	MUST(!fstat(fd, &s));
	printf("%o %ld\n", s.st_mode, (long)s.st_size);
	SAY(open("/proc/sys/kernel/ostype", O_WRONLY) < 0);
	SAY(open("/proc/sys/kernel/absent", O_RDONLY));
	SAY(open("/proc/sys/absent", O_CREAT | O_WRONLY, 0600));
	SAY(mkdir("/proc/x", 0700));
	SAY(unlink("/proc/version"));
	SAY(access("/proc/1/status", R_OK));
	SAY(access("/proc/self/../self/status", R_OK));
	SAY(readlink("/proc/self", text, sizeof text) == readlink("/proc/self", again, sizeof again));
	SAY(atoi(text) == getpid());
	return 0;
}
