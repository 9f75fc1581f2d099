/* brk(2): the break grows with zeros and shrinks; what was given back is zero when it comes again. */
#include "../observe.h"
#include <sys/syscall.h>

int main(void)
{
	char *end = sbrk(0), *p;

	setvbuf(stdout, NULL, _IONBF, 0);
	end = sbrk(-(long)((unsigned long)end & 4095) + 8192) ? sbrk(0) : end;
	p = sbrk(3 * 4096);
	printf("%d %d\n", p == end, (char *)sbrk(0) - p == 3 * 4096);
	p[0] = 1;
	p[2 * 4096] = 2;
	MUST(!brk(p + 4096));
	MUST(sbrk(2 * 4096) == p + 4096);
	printf("%d %d\n", p[0], p[2 * 4096]);
	printf("%d\n", (char *)syscall(SYS_brk, 0) == sbrk(0));
	printf("%d\n", (char *)syscall(SYS_brk, 1) == sbrk(0));
	OK(sbrk(1l << 60));
	printf("%d\n", (char *)sbrk(0) == p + 3 * 4096);
	return 0;
}
