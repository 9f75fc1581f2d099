/* execve(2): descriptors with FD_CLOEXEC are closed, others stay open with their offset. */
#include "../observe.h"
#include <fcntl.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	char number[2][16];
	int kept, closed;

	if (argc > 2) {
		SAY(lseek(atoi(argv[1]), 0, SEEK_CUR));
		SAY(lseek(atoi(argv[2]), 0, SEEK_CUR));
		return 0;
	}
	MUST((kept = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(kept, "hello", 5) == 5);
	MUST((closed = open("file", O_RDWR | O_CLOEXEC)) >= 0);
	snprintf(number[0], 16, "%d", kept);
	snprintf(number[1], 16, "%d", closed);
	execl(argv[0], argv[0], number[0], number[1], NULL);
	return 1;
}
