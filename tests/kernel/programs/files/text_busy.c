/* open(2): a program that runs cannot be opened for writing or truncated: ETXTBSY; unlinking it is allowed. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

int main(int count, char **arguments)
{
	struct stat status;
	int from, to;

	(void)arguments;
	if (count == 1) {
		MUST((from = open("/proc/self/exe", O_RDONLY)) >= 0 && !fstat(from, &status));
		MUST((to = open("copy", O_CREAT | O_WRONLY, 0700)) >= 0);
		MUST(sendfile(to, from, NULL, status.st_size) == status.st_size);
		MUST(!close(to));
		execl("./copy", "copy", "again", NULL);
		MUST(0);
	}
	SAY(open("copy", O_WRONLY));
	SAY(open("copy", O_RDWR));
	SAY(truncate("copy", 0));
	SAY(access("copy", W_OK));
	SAY(chmod("copy", 0500));
	SAY(unlink("copy"));
	SAY(open("copy", O_WRONLY));
	return 0;
}
