#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>
volatile int counter;
int table[64];
char buffer[32];
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
int main(void)
{
	int p[2];
	if (pipe(p)) return 1;
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 10; j++) {
			table[(i * 10 + j) % 64] = (j * 7919) % 31;
			counter += j & 1;
		}
		qsort(table, 20, sizeof(int), cmp);
		snprintf(buffer, sizeof buffer, "round %d %d", i, fact(i + 2));
		if (write(p[1], buffer, strlen(buffer) + 1) < 0) return 2;
		memset(buffer, 0, sizeof buffer);
		if (read(p[0], buffer, sizeof buffer) < 0) return 3;
	}
	printf("%s %d\n", buffer, counter);
	return 3;
}
