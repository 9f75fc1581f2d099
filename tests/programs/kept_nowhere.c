/* A variable that an optimizing compiler keeps nowhere, and others that lead to such an object. */
#include <stdio.h>
#include <unistd.h>

struct box {
	int level;
	double heat;
};

static struct box boxes[4];

__attribute__((pure, noinline)) static struct box *nearest(int level)
{
	return &boxes[level & 3];
}

__attribute__((pure, noinline)) static int levels(int of)
{
	return boxes[of & 3].level;
}

__attribute__((noinline)) static void warm(struct box *target, int turn)
{
	(void)!write(1, ".", 1);
	target->heat += turn == 6 ? -100 : 1;
}

int main(int argc, char **argv)
{
	struct box *idle = nearest(argc);
	int unused = levels(argc);

	(void)argv;
	(void)idle;
	(void)unused;
	for (int turn = 0; turn < 10; turn++)
		warm(&boxes[turn & 1], turn);
	printf("%g\n", boxes[0].heat);
	return 0;
}
