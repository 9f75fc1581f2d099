/* Variables with names that libraries have, too; libraries are called from in between. */
#include <math.h>
#include <unistd.h>

static int calls;

static double work(int n)
{
	int data[4] = {1, 2, 3, n};
	double y1 = 0.5 * n;
	int index = n, environ = 2 * n;
	const char *buf = "yes";

	if (write(1, "w", 1) == 1)
		calls += data[3];
	if (n == 3)
		data[2] = -1;
	write(1, "x", 1);
	return y1 + index + environ + buf[0] + data[2];
}

static double between(int n)
{
	double sum = work(n);

	write(1, "-", 1); /* @between */
	return sum;
}

int main(void)
{
	double sum = 0;

	for (int i = 1; i < 6; i++)
		sum += between(i);
	return floor(sum) < calls;
}
