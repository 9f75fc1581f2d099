/* sendfile(2): with and without an offset, into files and pipes, at the end, and its errors. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/sendfile.h>

int main(void)
{
	char text[32] = "";
	off_t at = 3;
	int from, to, append, two[2];

	MUST((from = open("from", O_CREAT | O_RDWR, 0600)) >= 0 && (to = open("to", O_CREAT | O_RDWR, 0600)) >= 0);
	MUST((append = open("to", O_WRONLY | O_APPEND)) >= 0 && !pipe2(two, O_NONBLOCK));
	MUST(write(from, "0123456789", 10) == 10 && !lseek(from, 0, SEEK_SET));
	SAY(sendfile(to, from, NULL, 4));
	SAY(lseek(from, 0, SEEK_CUR));
	SAY(sendfile(to, from, &at, 2));
	SAY(at);
	SAY(lseek(from, 0, SEEK_CUR));
	SAY(sendfile(to, from, NULL, 1000));
	SAY(sendfile(to, from, NULL, 1000));
	SAY(pread(to, text, sizeof text, 0));
	puts(text);
	at = 8;
	SAY(sendfile(two[1], from, &at, 100));
	SAY(read(two[0], text, sizeof text));
	SAY(sendfile(append, from, &at, 1));
	SAY(sendfile(to, two[0], NULL, 1));
	SAY(sendfile(to, two[0], &at, 1));
	SAY(sendfile(from, to, (off_t *)8, 1));
	SAY(sendfile(two[0], from, NULL, 1));
	SAY(sendfile(99, from, NULL, 1));
	at = -1;
	SAY(sendfile(to, from, &at, 1));
	at = 0;
	MUST(!ftruncate(from, 300000) && fcntl(two[1], F_SETPIPE_SZ, 65536) == 65536);
	SAY(sendfile(two[1], from, &at, 300000));
	SAY(at);
	SAY(sendfile(two[1], from, &at, 300000));
	SAY(at);
	return 0;
}
