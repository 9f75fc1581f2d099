/* For restarts: OpenMP, whose threads spin and then sleep at its barriers. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LONG /* enough to be stopped in */
enum { N = 3000, STEPS = 4, THREADS = 3, TIMES = 4000 };
#else
enum { N = 3000, STEPS = 12, THREADS = 3, TIMES = 120 };
#endif

static uint64_t grid[N], next[N];

static uint64_t mix(uint64_t x)
{
	for (int i = 0; i < TIMES; i++)
		x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u + 1;
	return x;
}

int main(void)
{
	uint64_t sum = 0, tasks = 0, critical = 0;
	omp_set_num_threads(THREADS);
	for (int i = 0; i < N; i++)
		grid[i] = (uint64_t)i;
	for (int step = 0; step < STEPS; step++) {
#pragma omp parallel reduction(+ : sum)
		{
#pragma omp for schedule(dynamic, 200)
			for (int i = 0; i < N; i++)
				next[i] = mix(grid[(i + 1) % N] + grid[i]);
#pragma omp for schedule(static)
			for (int i = 0; i < N; i++) {
				grid[i] = next[i];
				sum += next[i] >> 12;
			}
#pragma omp critical
			critical = critical + (uint64_t)step;
#pragma omp single
			for (int i = 0; i < 5; i++)
#pragma omp task shared(tasks) firstprivate(i, step)
			{
				uint64_t made = mix((uint64_t)(i + step));
#pragma omp atomic
				tasks += made >> 8;
			}
		}
		if (step % 4 == 3)
			printf("step %d: %016lx\n", step, (unsigned long)sum);
	}
	printf("sum %016lx %016lx %lu\n", (unsigned long)sum, (unsigned long)tasks, (unsigned long)critical);
	return 0;
}
