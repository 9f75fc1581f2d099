/* Each of `values` gets its value in `first`, and the same one again in the function of its name. */
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noipa, noinline)) static
#define AGAIN(name, asm_)                                                      \
	APART void name(volatile int *v)                                       \
	{                                                                      \
		asm volatile(asm_ : : "r"(v), "m"(same), "m"(*v) : CHANGED);   \
	}
#define CHANGED "rax", "rcx", "rdx", "rdi", "rsi", "memory", "cc"

static volatile int same = 0x03030303;
static volatile int read_only, often, unchanged;
static volatile struct {
	int plain, strings, filled, added, swapped, whole, set, copied;
} values;

APART void first(volatile int *v)
{
	*v = same; // first
}

AGAIN(plain, "movl $0x03030303, %2")
AGAIN(strings, "lea %1, %%rsi; mov %0, %%rdi; mov $4, %%ecx; rep movsb")
AGAIN(filled, "mov $3, %%eax; mov %0, %%rdi; mov $4, %%ecx; rep stosb")
AGAIN(added, "addl $0, %2")
AGAIN(swapped, "mov %1, %%eax; xchg %%eax, %2")
AGAIN(whole, "fildl %1; fistpl %2")

APART void set(volatile int *v)
{
	memset((void *)v, 3, sizeof(*v) + (size_t)(same & 0));
}

APART void copied(volatile int *v)
{
	memcpy((void *)v, (void *)&same, sizeof(*v) + (size_t)(same & 0));
}

/* None of these stores. */
AGAIN(reads, "cmpl $1, %2; test %%eax, %2; push %2; pop %%rax; mov %2, %%eax; bt $2, %2; nopl %2")
AGAIN(reads_more, "fildl %2; fiaddl %2; fstp %%st(0); mov %0, %%rsi; lods (%%rsi), %%eax;"
		  "sub $16, %%rsp; mov %0, %%rsi; mov %%rsp, %%rdi; movsl; add $16, %%rsp; mull %2")

int main(void)
{
	first(&values.plain), plain(&values.plain);
	first(&values.strings), strings(&values.strings);
	first(&values.filled), filled(&values.filled);
	first(&values.added), added(&values.added);
	first(&values.swapped), swapped(&values.swapped);
	first(&values.whole), whole(&values.whole);
	first(&values.set), set(&values.set);
	first(&values.copied), copied(&values.copied);
	unchanged = same & 0;
	first(&read_only), reads(&read_only), reads_more(&read_only);
	first(&often);
	for (int i = 0; i < 100; i++)
		same += often & 0;
	getppid();
	return 0;
}
