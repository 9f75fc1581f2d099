/* proc_pid_exe(5): the link of a deleted program ends in " (deleted)", and still opens and runs it. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void show(void)
{
	char target[4096] = "", magic[5] = "";

	SAY(readlink("/proc/self/exe", target, 0));
	MUST(readlink("/proc/self/exe", target, sizeof target - 1) > 0);
	puts(strrchr(target, '/'));
	int fd = open("/proc/self/exe", O_RDONLY);
	MUST(fd >= 0 && read(fd, magic, 4) == 4);
	printf("%s\n", magic + 1);
	SAY(access(target, F_OK));
	fflush(stdout);
	close(fd);
}

int main(int count, char **arguments)
{
	struct stat status;
	int from, to;

	(void)arguments;
	if (count == 1) {
		MUST((from = open("/proc/self/exe", O_RDONLY)) >= 0 && !fstat(from, &status));
		MUST((to = open("copy", O_CREAT | O_WRONLY, 0700)) >= 0);
		MUST(sendfile(to, from, NULL, status.st_size) == status.st_size && !close(to));
		execl("./copy", "copy", "again", NULL);
		MUST(0);
	}
	if (count == 2) {
		show();
		MUST(!rename("copy", "moved"));
		show();
		MUST(!unlink("moved"));
		show();
		execl("/proc/self/exe", "copy", "a", "third", NULL);
		MUST(0);
	}
	show();
	return 0;
}
