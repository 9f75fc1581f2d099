/* Rounds that take a while: the way to a far one begins at an image, not at the start. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int rounds;

int main(void)
{
	const struct timespec pause = {.tv_nsec = 4000000};
	char line[32];

	for (int i = 0; i < 80; i++) {
		int n = snprintf(line, sizeof(line), "round %d\n", i);

		nanosleep(&pause, NULL);
		if (write(1, line, n) == n)
			rounds++;
	}
	return 0;
}
