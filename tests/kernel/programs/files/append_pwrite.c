/* pwrite(2): BUGS: with O_APPEND pwrite appends whatever the offset; O_APPEND writes of two descriptors alternate. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/wait.h>

int main(void)
{
	char text[64] = "";
	int a, b, status;

	MUST((a = open("file", O_CREAT | O_RDWR | O_APPEND, 0600)) >= 0 &&
	     (b = open("file", O_WRONLY | O_APPEND)) >= 0);
	SAY(write(a, "one ", 4));
	SAY(write(b, "two ", 4));
	SAY(lseek(a, 0, SEEK_CUR));
	SAY(pwrite(a, "three ", 6, 0));
	SAY(lseek(a, 0, SEEK_CUR));
	SAY(lseek(a, 0, SEEK_SET));
	SAY(read(a, text, 4));
	SAY(write(a, "four ", 5));
	SAY(lseek(a, 0, SEEK_CUR));
	if (!fork())
		_exit(write(b, "child ", 6) == 6 ? 0 : 1);
	MUST(wait(&status) > 0);
	MUST(fcntl(a, F_SETFL, 0) >= 0);
	SAY(pwrite(a, "ONE", 3, 0));
	SAY(write(a, "x", 1));
	SAY(pread(a, text, sizeof text, 0));
	puts(text);
	SAY(fcntl(a, F_SETFL, O_WRONLY | O_CREAT | O_TRUNC)); /* ignored */
	printf("%x\n", fcntl(a, F_GETFL) & ~0100000);
	return 0;
}
