/* gcc puts what is seldom run far away from the rest of its function, and other functions in between. */
#include <unistd.h>

volatile int sink;

#define BETWEEN(n) \
	__attribute__((noinline)) void between##n(void) \
	{ \
		sink += n; \
	}
BETWEEN(0)
BETWEEN(1)
BETWEEN(2)
BETWEEN(3)
BETWEEN(4)
BETWEEN(5)
BETWEEN(6)
BETWEEN(7)
BETWEEN(8)
BETWEEN(9)

__attribute__((cold, noinline)) void seldom(volatile double *value)
{
	*value = -1;
}

__attribute__((noinline)) void work(int turn)
{
	volatile double kept = 1;
	double moved = 1;

	if (__builtin_expect(turn >= 30, 0)) {
		seldom(&kept);
		moved = -turn; /* @cold */
		sink += moved < kept;
	}
	sink += kept > 0;
	sink += moved > 0;
}

int main(void)
{
	for (int turn = 1; turn <= 60; turn++) {
		work(turn);
		between0(), between1(), between2(), between3(), between4();
		between5(), between6(), between7(), between8(), between9();
		getppid();
	}
	return 0;
}
