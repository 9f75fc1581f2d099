/* Variables whose names are like those of calls and fields, one in a block in which one event of four lies. */
#include <stdio.h>
#include <unistd.h>

static long reads;

int main(void)
{
	for (int turn = 0, count = 0; turn < 20; turn++) {
		reads = turn % 10;
		count = turn;
		getppid();
		getppid();
		getppid();
		{
			long inner = reads;
			getppid();
			reads += inner == 11 + count;
		}
	}
	printf("%ld\n", reads);
	return 0;
}
