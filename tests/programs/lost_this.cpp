/* A member function that does not need `this` any more: the compiler gives its register away. */
#include <unistd.h>

static volatile long sink;

struct Box {
	long v = 1;
	void fill(long n);
};

__attribute__((noinline)) void Box::fill(long n)
{
	getuid();
	v = n;
	getuid();
	v = n + 1;
	long a = n, b = 3 * n;
	for (int i = 0; i < 40; i++) {
		a += getuid();
		b ^= a * i;
	}
	sink = a + b;
}

int main(int argc, char **)
{
	Box *volatile hidden = new Box;
	hidden->fill(argc);
	for (int i = 0; i < 3; i++)
		getuid();
	return 0;
}
