/* Something to search for; tests name places by the comments with @. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct pair {
	int first, second;
};

int level;
int busy;
int quiet = 3;
int edges = 1;
char word[8];
volatile long many;

static int fib(int n)
{
	if (n < 2)
		return n;
	return fib(n - 1) + fib(n - 2); /* @fib */
}

static double half(double x)
{
	return x / 2;
}

static struct pair both(int a, const char *text)
{
	struct pair made = {a, (int)strlen(text)};
	return made; /* @both */
}

static void nothing(int *where)
{
	*where += 1; /* @nothing */
}

static int climb(int by)
{
	int height = 0;
	for (int i = 1; i <= 3; i++)
		height += by * i; /* @climb */
	return height;        /* @climbed */
}

static void step(int i)
{
	busy = i;
}

static void churn(long turns)
{
	for (long i = 0; i < turns; i++)
		many++; /* @churn */
}

int main(int argc, char **argv)
{
	level = 1; /* @one */
	getppid();
	level = 2;
	level = 2; /* no change */
	level = 3;
	int fd = open("/dev/zero", O_RDONLY); /* @open */
	memset(word, 'a', 4);
	read(fd, word, 4); /* @read */
	close(fd);
	printf("first\n");
	fflush(stdout);
	printf("sec");
	fflush(stdout);
	fprintf(stderr, "oops\n"); /* @oops */
	printf("ond\n");
	fflush(stdout);
	fib(5);
	half(5.0);
	both(7, "four");
	nothing(&busy);
	climb(2);
	climb(5);
	edges = 0; /* @edge-1 */
	edges = 1;
	edges = 0;
	edges = 1;
	edges = 0; /* @edge-3 */
	level = 4; /* @four */
	if (argc > 1) {
		churn(1000000);
		for (int i = 0; i < 100000; i++)
			step(i);
	}
	close(-1);
	return 0; /* @end */
}
