/* Each number came to `got` as an argument, and was computed in `main` where a comment names it. */
#include <unistd.h>

struct big {
	long v[5];
};

static volatile struct {
	int whole;
	double real;
	long ninth, deep, event;
	int expression;
	float single;
	int constant;
	long part;
} got;
static volatile int seed = 41;
static volatile double rate = 2.5;
static volatile long many = 99;
static struct big large = {{1, 2, 3, 4, 5}};

#define APART __attribute__((noipa)) static void

APART set(int a, double r)
{
	got.whole = a;
	got.real = r;
}

APART nine(long a, long b, long c, long d, long e, long f, long g, long h)
{
	got.ninth = a + b + c + d + e + f + g;
	got.ninth = h;
}

APART inner(long x)
{
	got.deep = x;
	getppid();
}

APART outer(long y)
{
	inner(y);
	getppid();
}

APART expression(int e)
{
	got.expression = e;
}

APART single(float e)
{
	got.single = e;
}

APART constant(int e)
{
	got.constant = e;
}

APART part(struct big b)
{
	got.part = b.v[3];
}

APART event(long e)
{
	got.event = e;
}

int main(int argc, char **argv)
{
	(void)argv;
	seed = seed + argc;         // whole
	rate = rate * 2 * argc;     // real
	many = many + argc;         // ninth
	large.v[3] += argc;         // part
	set(seed, rate);
	nine(1, 2, 3, 4, 5, 6, 7, many);
	getppid();
	outer(many);
	expression(seed * 3 + 1);   // expression
	single((float)(rate + 1));  // single
	constant(7);                // constant
	part(large);
	event(getppid());           // event
	getppid();
	return 0;
}
