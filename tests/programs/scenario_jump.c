/* A longjmp across three frames; tests name places by the comments with @. */
#include <setjmp.h>

static jmp_buf home;
static int landed;

static void deepest(int n)
{
	longjmp(home, n); /* @throw */
}

static void middle(int n)
{
	deepest(n + 1); /* @middle */
	landed = -1;
}

static void upper(int n)
{
	middle(n + 1); /* @upper */
	landed = -1;
}

int main(void)
{
	volatile int before = 5;

	if (setjmp(home) == 0) { /* @setjmp */
		before += 1;
		upper(before); /* @try */
		before = 0;
	} else {
		landed = before; /* @catch */
	}
	return landed - 6;
}
