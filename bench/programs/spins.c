/* Threads that wait for each other by looking at memory.  argv: kernel steps [threads].  Prints the kernel, its time in
 * seconds, and its result, which is the same with two threads each time. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 14, ROWS = 64, WIDTH = 256, UNKNOWNS = 1400, NONZEROS = 56 };

static double a[N], b[N], grid[ROWS][WIDTH];
static atomic_int turn, lock_word;
static atomic_int done[64 * 16]; /* a cache line each */

/* Much work, then one reduction. */
static double ep(int steps)
{
	double sum = 0;
#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < steps * 100000; i++) {
		unsigned x = (unsigned)i * 2654435761u;
		sum += sqrt((double)(x >> 8));
	}
	return sum;
}

/* A sparse matrix by a vector, and sums of vectors: as large as class S of the NAS Parallel Benchmarks. */
static double cg(int steps)
{
	static int column[UNKNOWNS][NONZEROS];
	double sum = 0;
	for (int row = 0; row < UNKNOWNS; row++)
		for (int k = 0; k < NONZEROS; k++)
			column[row][k] = (row * 31 + k * 97) % UNKNOWNS;
	for (int step = 0; step < steps; step++) {
		double dot = 0;
#pragma omp parallel for
		for (int row = 0; row < UNKNOWNS; row++) {
			double of_row = 0;
			for (int k = 0; k < NONZEROS; k++)
				of_row += a[column[row][k]] / (1 + k);
			b[row] = of_row;
		}
#pragma omp parallel for reduction(+ : dot)
		for (int row = 0; row < UNKNOWNS; row++)
			dot += a[row] * b[row];
#pragma omp parallel for
		for (int row = 0; row < UNKNOWNS; row++)
			a[row] += 1e-9 * dot * b[row];
		sum += dot;
	}
	return sum;
}

/* Nothing but short regions, of a microsecond or two each. */
static double regions(int steps)
{
	for (int step = 0; step < steps; step++) {
#pragma omp parallel for
		for (int i = 0; i < 4096; i++)
			a[i] += 1e-9 * b[i];
	}
	return a[1];
}

/* One region, barriers within it. */
static double ft(int steps)
{
#pragma omp parallel
	for (int step = 0; step < steps; step++) {
#pragma omp for
		for (int i = 0; i < N; i++)
			b[i] = sin(a[i] + step);
#pragma omp for
		for (int i = 0; i < N; i++)
			a[i] = b[(i * 129) % N];
	}
	return a[1];
}

/* Sweeps over a grid, a region for each direction. */
static double bt(int steps)
{
	for (int step = 0; step < steps; step++) {
#pragma omp parallel for
		for (int i = 0; i < ROWS; i++)
			for (int j = 1; j < WIDTH; j++)
				grid[i][j] = 0.5 * (grid[i][j] + grid[i][j - 1]) + 1;
#pragma omp parallel for
		for (int j = 0; j < WIDTH; j++)
			for (int i = 1; i < ROWS; i++)
				grid[i][j] = 0.5 * (grid[i][j] + grid[i - 1][j]);
	}
	return grid[ROWS - 1][WIDTH - 1];
}

/* A pipeline: each thread waits for its left neighbour's flag before each row. */
static double lu(int steps)
{
#pragma omp parallel
	{
		const int me = omp_get_thread_num(), all = omp_get_num_threads();
		const int from = 1 + me * (WIDTH - 1) / all, to = 1 + (me + 1) * (WIDTH - 1) / all;
		for (int step = 0; step < steps; step++) {
			for (int i = 1; i < ROWS; i++) {
				while (me && atomic_load_explicit(&done[me * 16 - 16], memory_order_acquire) <
						     step * ROWS + i)
					;
				for (int k = 0; k < 20; k++)
					for (int j = from; j < to; j++)
						grid[i][j] = 0.3 * (grid[i][j] + grid[i][j - 1] + grid[i - 1][j]) + 1;
				atomic_store_explicit(&done[me * 16], step * ROWS + i, memory_order_release);
			}
#pragma omp barrier
		}
	}
	return grid[ROWS - 1][WIDTH - 1];
}

static void work(int n)
{
	for (int i = 0; i < n; i++)
		a[i % N] += 1;
}

/* A lock that spins, long within and without. */
static double spinlock(int steps)
{
#pragma omp parallel
	for (int step = 0; step < steps; step++) {
		while (atomic_exchange(&lock_word, 1))
			while (atomic_load(&lock_word))
				__builtin_ia32_pause();
		work(2000);
		atomic_store(&lock_word, 0);
		for (volatile int i = 0; i < 1000; i++)
			;
	}
	return a[0];
}

/* The same, with a try that is counted in memory, as of a library that gives up at last. */
static double trylock(int steps)
{
	static volatile long tries[64 * 8];
#pragma omp parallel
	for (int step = 0; step < steps; step++) {
		int free = 0;
		while (!atomic_compare_exchange_strong(&lock_word, &free, 1)) {
			tries[omp_get_thread_num() * 8]++;
			free = 0;
			for (int i = 0; i < 4; i++)
				__builtin_ia32_pause();
		}
		work(2000);
		atomic_store(&lock_word, 0);
	}
	return a[0];
}

/* They take turns. */
static double flags(int steps)
{
#pragma omp parallel
	{
		const int me = omp_get_thread_num(), all = omp_get_num_threads();
		for (int step = 0; step < steps; step++) {
			while (atomic_load_explicit(&turn, memory_order_acquire) != me)
				;
			work(20000);
			atomic_store(&turn, (me + 1) % all);
		}
	}
	return a[0];
}

static const struct {
	const char *name;
	double (*run)(int steps);
} kernels[] = {{"ep", ep}, {"cg", cg},         {"regions", regions}, {"ft", ft},      {"bt", bt},
	       {"lu", lu}, {"lock", spinlock}, {"trylock", trylock}, {"flags", flags}};

int main(int argc, char **argv)
{
	if (argc > 3)
		omp_set_num_threads(atoi(argv[3]));
	for (int i = 0; i < N; i++)
		a[i] = b[i] = 1.0 / (i + 1);
	for (size_t i = 0; argc > 2 && i < sizeof(kernels) / sizeof(*kernels); i++)
		if (!strcmp(argv[1], kernels[i].name)) {
			double began = omp_get_wtime(), result = kernels[i].run(atoi(argv[2]));
			printf("%s %.6f %.17g\n", argv[1], omp_get_wtime() - began, result);
			return 0;
		}
	return 2;
}
