/* Calls of all kinds, with many events in between. */
#include <setjmp.h>
#include <unistd.h>

struct point {
	double x;
	long y;
};

static jmp_buf away;

static struct point named(int n, const char *text, double half)
{
	struct point made = {half * 2, n + text[0]};
	return made;
}

static const char *deep(int n, const char *why)
{
	getppid();
	return n ? deep(n - 1, why) + n % 2 : why;
}

static void jumping(int n)
{
	getppid();
	if (n % 3)
		longjmp(away, 1);
}

static long double wide(int n)
{
	return n / 2.0L;
}

static long whole(int rounds)
{
	static const char *texts[] = {"", "sixteen letters!", "seventeen letters", "\xff\n\"q\""};
	double sum = 0;

	for (volatile int i = 0; i < rounds; i++) {
		getppid();
		if (i % 4 == 0)
			sum += named(i, texts[i / 4 % 4], i * 0.5).x;
		if (i % 40 == 0 && setjmp(away) == 0) {
			jumping(i);
			sum++; /* not where one comes to otherwise */
		}
		if (i % 100 == 0)
			sum += (double)wide(i);
	}
	return (long)sum;
}

static void unread(const char *text, const struct point *at, struct point made)
{
	if (text == (char *)at + made.y)
		getppid();
}

static void leave(int code)
{
	_exit(code);
}

int main(void)
{
	const char *end = deep(100, "a text that is read on the way back up, from a hundred levels down"
				    "; every second one of them moves on by a character, like this");
	unread((char *)16, 0, (struct point){1.5, 2});
	unread(0, (struct point *)&away, (struct point){2.5, 3});
	leave(whole(300) + *end < 0);
}
