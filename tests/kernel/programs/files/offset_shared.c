/* fork(2): parent and child share the offsets of files opened before; stdio flushes what it has in both. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

int main(void)
{
	char text[32] = "";
	int fd, own, status;
	FILE *file;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(fd, "0123456789", 10) == 10);
	MUST(!lseek(fd, 2, SEEK_SET) || 1);
	fflush(stdout);
	if (!fork()) {
		MUST((own = open("file", O_RDONLY)) >= 0 && read(own, text, 5) == 5);
		_exit(read(fd, text, 3) == 3 && text[0] == '2' ? 0 : 1);
	}
	MUST(wait(&status) > 0);
	SAY(WEXITSTATUS(status));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(fcntl(fd, F_SETFL, O_APPEND));
	if (!fork()) {
		_exit(fcntl(fd, F_GETFL) & O_APPEND ? fcntl(fd, F_SETFL, 0) : 9);
	}
	MUST(wait(&status) > 0);
	printf("%d %x\n", WEXITSTATUS(status), fcntl(fd, F_GETFL) & O_APPEND);
	MUST((file = fopen("buffered", "w+")) && fputs("twice ", file) >= 0);
	if (!fork()) {
		fclose(file);
		_exit(0);
	}
	MUST(wait(&status) > 0);
	fflush(file);
	rewind(file);
	MUST(fgets(text, sizeof text, file));
	puts(text);
	return 0;
}
