/* select(2): the sets are changed to what is ready, also where none is; on Linux the time left is written. */
#include "../observe.h"
#include <sys/select.h>
#include <time.h>

int main(void)
{
	struct timeval zero = {0, 0}, little = {0, 2000}, wrong = {-1, 0};
	struct timespec point = {0, 1000000};
	int a[2], b[2];
	fd_set in, out, both;

	MUST(!pipe(a) && !pipe(b) && write(a[1], "x", 1) == 1);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(a[0], &in);
	FD_SET(b[0], &in);
	FD_SET(a[1], &out);
	FD_SET(b[1], &out);
	SAY(select(b[1] + 1, &in, &out, NULL, &zero));
	printf("%d %d %d %d\n", !!FD_ISSET(a[0], &in), !!FD_ISSET(b[0], &in), !!FD_ISSET(a[1], &out),
	       !!FD_ISSET(b[1], &out));
	FD_ZERO(&in);
	FD_SET(b[0], &in);
	SAY(select(b[0] + 1, &in, NULL, NULL, &little));
	printf("%d left %ld %ld\n", !!FD_ISSET(b[0], &in), (long)little.tv_sec, (long)little.tv_usec);
	FD_SET(b[0], &in);
	SAY(pselect(b[0] + 1, &in, NULL, NULL, &point, NULL));
	printf("%ld\n", point.tv_nsec);
	FD_SET(a[0], &in);
	little = (struct timeval){100, 0};
	SAY(select(b[0] + 1, &in, NULL, NULL, &little));
	printf("left %d\n", little.tv_sec >= 98);
	FD_ZERO(&both);
	FD_SET(a[0], &both);
	SAY(select(a[0], &both, NULL, NULL, &zero));
	printf("%d\n", !!FD_ISSET(a[0], &both));
	FD_SET(a[0], &both);
	SAY(select(a[0] + 1, &both, NULL, NULL, &wrong));
	SAY(select(-1, NULL, NULL, NULL, &zero));
	close(b[1]);
	FD_ZERO(&in);
	FD_SET(b[0], &in);
	SAY(select(b[0] + 1, &in, NULL, NULL, NULL));
	return 0;
}
