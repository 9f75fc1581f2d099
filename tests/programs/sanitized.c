/* sanitized HOW: clean; slow: in two seconds; freed: reads memory that was freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int total;

static void add(const int *values, int n)
{
	for (int i = 0; i < n; i++)
		total += values[i];
}

int main(int argc, char **argv)
{
	int *values = malloc(20 * sizeof(*values));
	if (argc < 2 || !values)
		return 2;
	for (int i = 0; i < 20; i++) {
		values[i] = i;
		add(values + i, 1);
		usleep(strcmp(argv[1], "slow") ? 1000 : 100000);
	}
	free(values);
	printf("%d\n", total);
	fflush(stdout);
	if (!strcmp(argv[1], "freed"))
		add(values, 3);
	return 0;
}
