/* Places that are arrived at millions of times between two events.  Labels are breakpoint addresses. */
#include <stdint.h>
#include <unistd.h>

volatile uint64_t sum, middle;

/* Short instructions at `hot`: a patch over it covers several, and every 1000th turn jumps to `inside`. */
__attribute__((noinline)) static void loop(uint64_t turns)
{
	uint64_t i = 0, left = 1000;

	__asm__ volatile(".globl turn, hot, inside, behind\n"
			 "turn: dec %1\n\t"
			 "jnz hot\n\t"
			 "mov $1000, %1\n\t"
			 "jmp inside\n"
			 "hot: inc %0\n"
			 "inside: xchg %0, %0\n\t"
			 "nop\n\t"
			 "nop\n"
			 "behind: cmp %2, %0\n\t"
			 "jb turn"
			 : "+r"(i), "+r"(left)
			 : "r"(turns)
			 : "cc", "memory");
	sum += i;
}

int main(void)
{
	getppid();
	loop(3000000);
	getppid();
	for (int k = 0; k < 200; k++) {
		loop(200);
		getppid();
	}
	return 0;
}
