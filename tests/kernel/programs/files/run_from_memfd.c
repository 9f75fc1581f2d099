/* fexecve(3): a program in a memfd runs by its descriptor; its /proc/self/exe has no file. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

extern char **environ;

int main(int count, char **arguments)
{
	char target[128] = "";
	struct stat s;
	int from, fd;

	if (count > 1) {
		MUST(readlink("/proc/self/exe", target, sizeof target - 1) > 0);
		printf("%s, %s\n", target, arguments[1]);
		SAY(fcntl(70, F_GETFD));
		SAY(open("/proc/self/exe", O_WRONLY));
		return 0;
	}
	MUST((from = open("/proc/self/exe", O_RDONLY)) >= 0 && !fstat(from, &s));
	MUST((fd = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING)) >= 0);
	MUST(sendfile(fd, from, NULL, s.st_size) == s.st_size);
	MUST(!fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) && dup3(fd, 70, O_CLOEXEC) == 70);
	SAY(lseek(from, 0, SEEK_SET));
	char *const now[] = {"in memory", "again", NULL};
	fflush(stdout);
	fexecve(fd, now, environ);
	MUST(0);
}
