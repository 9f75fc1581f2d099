// An array whose largest element rises and falls, between events and over them: watched.
#include <stdlib.h>
#include <unistd.h>

static double u[1000];
static int turns;
static struct cell {
	int pad;
	double x;
} one, other, *at = &one;

__attribute__((noinline)) static void step(int i, double *p, int n)
{
	for (int k = 0; k < n; k++)
		p[k] = k + i * 1e-4;
	if (i == 200)
		p[7] = 5000; // up
	if (i == 201)
		p[7] = 7; // down
	at->x = i % 4;
	turns++;
	if (i == 203)
		at = &other;
	getppid();
}

int main(void)
{
	for (int i = 0; i < 300; i++)
		step(i, u, 1000);
	u[3] = -1;
	u[4] = -2; // after the last event
	return turns != 300;
}
