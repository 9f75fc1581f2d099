/* tee(2): copies what is in a pipe without taking it out; EAGAIN, EINVAL, the end. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

int main(void)
{
	char text[32] = "";
	int a[2], b[2], ready = 0;

	MUST(!pipe(a) && !pipe(b) && write(a[1], "hello", 5) == 5 && write(a[1], "world", 5) == 5);
	SAY(tee(a[0], b[1], 7, 0));
	MUST(!ioctl(a[0], FIONREAD, &ready));
	SAY(ready);
	SAY(read(b[0], text, sizeof text));
	puts(text);
	SAY(tee(a[0], b[1], 100, 0));
	SAY(read(a[0], text, 5));
	MUST(!ioctl(b[0], FIONREAD, &ready));
	SAY(ready);
	SAY(tee(a[0], a[1], 1, 0));
	SAY(tee(0, b[1], 1, 0));
	SAY(tee(a[0], b[1], 0, 0));
	SAY(read(a[0], text, sizeof text));
	SAY(tee(a[0], b[1], 1, SPLICE_F_NONBLOCK));
	close(a[1]);
	SAY(tee(a[0], b[1], 1, 0));
	struct iovec v[2] = {{"two ", 4}, {"parts", 5}}, in[2] = {{text, 3}, {text + 10, 20}};
	SAY(read(b[0], text, sizeof text));
	SAY(vmsplice(b[1], v, 2, 0));
	SAY(vmsplice(b[0], in, 2, 0));
	printf("%.3s|%.6s\n", text, text + 10);
	SAY(vmsplice(0, v, 1, 0));
	SAY(vmsplice(b[1], v, 0, 0));
	SAY(vmsplice(b[0], in, 1, SPLICE_F_NONBLOCK));
	return 0;
}
