/* open(2): O_NOATIME: only the owner may; fcntl sets it, too; others get EPERM. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

int main(void)
{
	int fd, status;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0666)) >= 0 && !fchmod(fd, 0666) && !chmod(".", 0755));
	SAY(open("file", O_RDONLY | O_NOATIME) >= 0);
	SAY(fcntl(fd, F_SETFL, O_NOATIME));
	printf("%d\n", (fcntl(fd, F_GETFL) & O_NOATIME) != 0);
	SAY(open("/proc/version", O_RDONLY | O_NOATIME) < 0 && geteuid());
	if (geteuid())
		return 0;
	fflush(stdout);
	if (!fork()) {
		MUST(!setgid(65534) && !setuid(65534));
		SAY(open("file", O_RDONLY | O_NOATIME));
		int other = open("file", O_RDONLY);
		MUST(other >= 0);
		SAY(fcntl(other, F_SETFL, O_NOATIME));
		SAY(fcntl(other, F_SETFL, O_NONBLOCK));
		_exit(0);
	}
	MUST(wait(&status) > 0);
	return 0;
}
