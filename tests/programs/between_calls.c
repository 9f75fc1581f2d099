/* What a parameter points to turns false while its function, the only one that makes events, does not run. */
#include <stdlib.h>
#include <unistd.h>

struct cell { double value; int kind; };
struct grid { struct cell **rows; int turn; double edge[]; };

static inline void __attribute__((always_inline)) beside(int turn)
{
	double near[2] = {turn, turn};
	double *hint = near;
	getppid();
}

static void __attribute__((noipa)) exchange(struct grid *g, int turn, double limit)
{
	double own[2] = {turn, limit};
	double *lead = own;
	beside(turn);
	getppid();
	g->edge[0] = lead[0] + lead[1];
	getppid();
}

static void __attribute__((noipa)) relax(struct grid *h)
{
	h->rows[1][2].value *= 0.5;
	if (h->turn == 17)
		h->rows[1][2].kind = -1; /* wrong */
	h->rows[1][1].value = h->turn;
}

int main(void)
{
	struct grid *whole = calloc(1, sizeof(*whole) + 4 * sizeof(double));
	whole->rows = calloc(2, sizeof(*whole->rows));
	for (int i = 0; i < 2; i++)
		whole->rows[i] = calloc(4, sizeof(struct cell));
	for (whole->turn = 0; whole->turn < 30; whole->turn++) {
		exchange(whole, whole->turn, 0.5);
		relax(whole);
		if (whole->turn % 7 == 3)
			getppid();
	}
	return 0;
}
