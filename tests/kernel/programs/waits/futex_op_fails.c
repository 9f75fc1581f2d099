/* futex(2): FUTEX_WAKE_OP with a comparison that does not exist fails with ENOSYS after it has changed the word. */
#include "../observe.h"
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>

int main(void)
{
	static uint32_t first, second = 5;

	SAY(syscall(SYS_futex, &first, FUTEX_WAKE_OP_PRIVATE, 1, 1, &second, FUTEX_OP(FUTEX_OP_ADD, 3, 9, 0)));
	printf("%u\n", second);
	SAY(syscall(SYS_futex, &first, FUTEX_WAKE_OP_PRIVATE, 1, 1, &second, FUTEX_OP(7, 3, 0, 0)));
	printf("%u\n", second);
	SAY(syscall(SYS_futex, &first, FUTEX_WAKE_OP_PRIVATE, 1, 1, 8, FUTEX_OP(FUTEX_OP_ADD, 3, 0, 0)));
	return 0;
}
