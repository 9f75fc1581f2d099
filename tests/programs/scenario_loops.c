/* Loops of millions of turns between two events; tests name places by the comments with @. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct wide {
	long before;
	long part[60];
	long after;
};

volatile long sum;
volatile unsigned long scrambled = 1;
struct wide wide;
long apart[12][512]; /* each row in a page of its own */
char text[9000];

static void turns(long n)
{
	for (long i = 0; i < n; i++) {
		long twice = 2 * i; /* @turn */
		sum += twice;	    /* @add */
		sum ^= i;	    /* @mix */
	}
}

static void rare(long n)
{
	for (long i = 0; i < n; i++) {
		wide.before = i;
		if (i % (n / 10) == n / 20)
			wide.part[i * 59 / n] = i; /* @rare */
		wide.after = i;
	}
}

static void rows(void)
{
	for (int i = 0; i < 12; i++)
		apart[i][100] = i + 1; /* @row */
	for (int i = 0; i < 12; i++)
		apart[i][101] = i; /* beside it */
	for (int i = 0; i < 12; i++)
		apart[i][100] = apart[i][100]; /* no change */
}

static void fill(void)
{
	int p[2];

	if (pipe(p) || write(p[1], "from outside", 12) != 12)
		exit(1);
	text[4000] = 'a';		      /* @inside */
	if (read(p[0], text + 4090, 12) != 12) /* @read */
		exit(1);
	text[8999] = 'z'; /* @last */
}

static void scramble(long n)
{
	for (long i = 0; i < n; i++)
		scrambled = scrambled * 6364136223846793005ul + 1;
}

int main(int argc, char **argv)
{
	getppid();
	turns(atol(argv[1]));
	getppid(); /* @turned */
	rare(50000);
	getppid(); /* @rarely */
	rows();
	fill();
	getppid(); /* @filled */
	scramble(atol(argv[2])); /* no event, so no checkpoint, lies between this and the end */
	return 0;
}
