/* Conditions that turn false and true again; tests name places by the comments with @. */
#include <stdio.h>
#include <unistd.h>

int good = 1;  /* good, bad, good, bad with events between */
int dense = 1; /* the same with none */
int always = 1;
int never;
int worse = 4;

static void calls(int n)
{
	for (int i = 0; i < n; i++)
		getppid();
}

static void first(void)
{
	good = 0; /* @bad-1 */
}

static void second(void)
{
	good = 0; /* @bad-2 */
}

int main(void)
{
	calls(20);
	first();
	calls(15);
	good = 1; /* @good-again */
	calls(15);
	dense = 0; /* @dense-1 */
	worse--;
	dense = 1; /* @dense-2 */
	worse--;
	dense = 0; /* @dense-3 */
	calls(10);
	second();
	calls(40);
	never = 0;
	return always + good - 1;
}
