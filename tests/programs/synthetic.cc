// Pointers and references that the optimizer removes, while what they lead to stays in registers.
#include <unistd.h>

struct pair {
	int x, y;
};

__attribute__((always_inline)) static inline int look(const int *a, const pair *p, const pair &q)
{
	int r = *a * *a;
	getppid();
	getuid();
	return r + p->x + *a + q.y;
}

__attribute__((noinline)) static int sums(int n)
{
	int table[4] = {n, n + 1, n + 2, n + 3};
	int sum = table[0] + table[2];
	getppid();
	getuid();
	return sum + n;
}

struct solver {
	int n;
	int run(int by)
	{
		auto copy = [*this, by]() mutable {
			n += by;
			getppid();
			getuid();
			return n;
		};
		return copy() + n;
	}
};

int main(int argc, char **)
{
	int k = argc * 7;
	pair p{argc + 2, argc + 3}, q{argc + 5, argc + 6};
	int found = look(&k, &p, q);
	found += sums(argc);
	solver s{argc + 10};
	found += s.run(argc);
	return found + k + p.y + q.x > 200;
}
