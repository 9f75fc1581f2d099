/* Variables that are 500 between two of 300 calls only; one of them is 100 at first, too. */
#include <stdio.h>
#include <unistd.h>

static long value, early = 100;

static long step(int turn)
{
	long inner = turn;
	getppid();
	if (turn == 77)
		inner = value = early = 500;
	getppid();
	value = turn;
	if (turn > 3)
		early = turn % 90;
	return inner;
}

int main(void)
{
	long sum = 0;
	for (int turn = 0; turn < 150; turn++)
		sum += step(turn);
	printf("%ld\n", sum);
	return 0;
}
