/* splice(2): one end is a pipe; offsets, SPLICE_F_NONBLOCK, the end of input, and its errors. */
#include "../observe.h"
#include <fcntl.h>

int main(void)
{
	char text[32] = "";
	off_t at = 2, none = 0;
	int file, append, a[2], b[2];

	MUST((file = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe(a) && !pipe(b));
	MUST((append = open("file", O_WRONLY | O_APPEND)) >= 0 && write(file, "0123456789", 10) == 10);
	SAY(splice(file, &at, a[1], NULL, 5, 0));
	SAY(at);
	SAY(splice(file, NULL, a[1], NULL, 5, 0));
	SAY(splice(a[0], NULL, b[1], NULL, 3, SPLICE_F_MOVE));
	SAY(splice(a[0], NULL, a[1], NULL, 1, 0));
	SAY(splice(b[0], &none, a[1], NULL, 1, 0));
	SAY(splice(file, NULL, append, NULL, 1, 0));
	SAY(splice(a[0], NULL, append, NULL, 1, 0));
	SAY(splice(b[0], NULL, file, NULL, 100, 0));
	SAY(lseek(file, 0, SEEK_CUR));
	SAY(splice(b[0], NULL, file, NULL, 100, SPLICE_F_NONBLOCK));
	at = 20;
	SAY(splice(a[0], NULL, file, &at, 100, 0));
	SAY(at);
	SAY(pread(file, text, sizeof text, 0));
	printf("%.13s %s\n", text, text + 20);
	SAY(close(a[1]));
	SAY(splice(a[0], NULL, file, NULL, 1, 0));
	SAY(splice(file, (off_t *)8, b[1], NULL, 1, 0));
	SAY(splice(file, NULL, b[1], NULL, 0, 0));
	SAY(splice(file, NULL, b[1], NULL, 1, 0x100));
	return 0;
}
