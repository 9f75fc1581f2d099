/* A local that is there part of the time, and a change late in the run; tests name places by the comments
 * with @. */
#include <unistd.h>

int late = 1;

static void calls(int n)
{
	for (int i = 0; i < n; i++)
		getppid();
}

static int roam(int limit)
{
	int depth = 0;
	while (depth < limit) {
		depth++; /* @deeper */
		calls(3);
	}
	return depth;
}

static int nowhere(void)
{
	int never_seen = 5;
	return never_seen;
}

int main(void)
{
	calls(20);
	roam(4);
	calls(30);
	roam(2);
	calls(25);
	roam(9);
	calls(nowhere());
	late = 0; /* @late */
	calls(3);
	return 0;
}
