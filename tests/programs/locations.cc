// A function at two addresses, called ten times at each.
#include <unistd.h>

template <class T> __attribute__((noinline)) static T twice(T a)
{
	getppid();
	return a + a;
}

int total;

int main()
{
	for (int i = 0; i < 10; i++) {
		total += twice(i);
		total += (int)twice(1.5 * i);
	}
	return total > 10000;
}
