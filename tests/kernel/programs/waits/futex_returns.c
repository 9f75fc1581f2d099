/* futex(2): wrong values give EAGAIN, times that passed ETIMEDOUT, odd addresses EINVAL, wakes the number of waiters. */
#include "../observe.h"
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define FUTEX(...) syscall(SYS_futex, __VA_ARGS__)

int main(void)
{
	static uint32_t words[4] = {5, 6, 7, 8};
	struct timespec little = {0, 1000000}, past = {1, 0}, wrong = {0, 2000000000}, negative = {-1, 0};

	SAY(FUTEX(words, FUTEX_WAIT, 4, NULL));
	SAY(FUTEX(words, FUTEX_WAIT_PRIVATE, 5, &little));
	SAY(FUTEX(words, FUTEX_WAIT_BITSET, 5, &past, NULL, 1));
	SAY(FUTEX(words, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &past, NULL, FUTEX_BITSET_MATCH_ANY));
	SAY(FUTEX(words, FUTEX_WAIT_BITSET, 5, &past, NULL, 0));
	SAY(FUTEX(words, FUTEX_WAIT, 5, &wrong));
	SAY(FUTEX(words, FUTEX_WAIT, 5, &negative));
	SAY(FUTEX((char *)words + 1, FUTEX_WAIT, 5, &little));
	SAY(FUTEX((void *)8, FUTEX_WAIT, 5, &little));
	SAY(FUTEX((void *)8, FUTEX_WAKE_PRIVATE, 1));
	SAY(FUTEX(words, FUTEX_WAKE, 100));
	SAY(FUTEX(words, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
	SAY(FUTEX(words, FUTEX_REQUEUE, 1, 1, words + 1));
	SAY(FUTEX(words, FUTEX_CMP_REQUEUE, 1, 1, words + 1, 4));
	SAY(FUTEX(words, FUTEX_CMP_REQUEUE, 1, 1, words + 1, 5));
	SAY(FUTEX(words, FUTEX_CMP_REQUEUE, -1, 1, words + 1, 5));
	SAY(FUTEX(words, FUTEX_WAKE_OP, 1, 1, words + 1, FUTEX_OP(FUTEX_OP_ADD, 10, FUTEX_OP_CMP_EQ, 6)));
	printf("%u\n", words[1]);
	SAY(FUTEX(words, FUTEX_WAKE_OP, 1, 1, words + 2, FUTEX_OP(FUTEX_OP_ANDN, 3, FUTEX_OP_CMP_GT, 0)));
	printf("%u\n", words[2]);
	SAY(FUTEX(words, FUTEX_WAKE_OP, 1, 1, words + 3,
		  FUTEX_OP((FUTEX_OP_XOR | FUTEX_OP_OPARG_SHIFT), 4, FUTEX_OP_CMP_LE, 0)));
	printf("%u\n", words[3]);
	SAY(FUTEX(words, 77, 1));
	SAY(FUTEX(words, FUTEX_FD, 0));
	SAY(FUTEX(words, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1));
	return 0;
}
