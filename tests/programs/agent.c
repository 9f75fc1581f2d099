/* Everything the agent must get right, in the order of main().  Labels are breakpoint addresses. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

volatile int i;
volatile uint64_t sum, same, flags_seen;
volatile uint64_t last_word;
char buffer[64];
char copied[20000], source[20000];
double fraction;

__attribute__((noinline)) int fact(int n)
{
	return n < 2 ? 1 : n * fact(n - 1);
}

__attribute__((noinline)) static void loop(void)
{
	for (i = 0; i < 1000; i++)
		__asm__ volatile(".globl loop_body\nloop_body: addq %1, %0" : "+m"(sum) : "r"((uint64_t)i));
}

__attribute__((noinline)) static void flags(void)
{
	uint64_t f;

	__asm__ volatile(".globl push_flags\npush_flags: pushfq\n\tpopq %0" : "=r"(f));
	flags_seen = f;
	__asm__ volatile("pushfq\n\tpopfq\n\tcld" ::: "cc");
}

__attribute__((noinline)) static void strings(void)
{
	void *to = copied, *from = source;
	uint64_t n = sizeof(copied);

	__asm__ volatile(".globl copy\ncopy: rep movsb\n\t.globl copied_all\ncopied_all: nop"
			 : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

__attribute__((noinline)) static void floats(void)
{
	double x = 0;

	for (int k = 1; k < 50; k++)
		x += 1.0 / k;
	fraction = x;
}

int main(void)
{
	int p[2];

	memset(source, 'x', sizeof(source));
	loop();
	fact(5);
	flags();
	strings();
	floats();
	same = same;
	same = 7;
	same = 7;
	if (pipe(p) || write(p[1], "from an event", 13) != 13 || read(p[0], buffer, sizeof(buffer)) != 13)
		return 1;
	for (int k = 0; k < 5; k++)
		getppid();
	last_word = 1;
	printf("%d %lu %s\n", i, sum, buffer);
	return 3;
}
