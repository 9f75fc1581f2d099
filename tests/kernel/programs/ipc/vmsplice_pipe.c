/* vmsplice(2), tee(2): memory goes into a pipe, a pipe is copied without being read, and what is left is read. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/uio.h>

int main(void)
{
	int a[2], b[2];
	char text[16] = "some bytes", got[16] = "";
	struct iovec part = {text, 10};

	MUST(!pipe(a) && !pipe(b));
	SAY(vmsplice(a[1], &part, 1, 0));
	SAY(tee(a[0], b[1], 4, 0));
	SAY(read(b[0], got, 16));
	printf("%.4s\n", got);
	SAY(splice(a[0], NULL, b[1], NULL, 6, 0));
	SAY(read(b[0], got, 16));
	printf("%.6s\n", got);
	memset(got, 0, sizeof got);
	part.iov_base = got;
	part.iov_len = 16;
	SAY(vmsplice(a[0], &part, 1, SPLICE_F_NONBLOCK));
	printf("%.4s\n", got);
	SAY(vmsplice(a[0], &part, 1, SPLICE_F_NONBLOCK));
	SAY(tee(a[0], a[1], 4, SPLICE_F_NONBLOCK));
	SAY(tee(b[0], a[1], 4, SPLICE_F_NONBLOCK));
	SAY(splice(a[0], &(off_t){0}, b[1], NULL, 1, SPLICE_F_NONBLOCK));
	return 0;
}
