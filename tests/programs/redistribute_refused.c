/* Which parts rdb_distribute() takes, and what makes a part of a checkpoint useless later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "rdb.h"

static char memory[1 << 16];

static int tried(const char *name, void *at, size_t row, long first, long number, long block, long step)
{
	const struct rdb_rows rows = {first, number, block, step};
	return rdb_distribute(name, at, row, rows);
}

static int whole(long total, long block, int ranks)
{
	char seen[64] = "";
	for (int cyclic = 0; cyclic < 2; cyclic++) {
		memset(seen, 0, sizeof(seen));
		for (int rank = 0; rank < ranks; rank++) {
			const struct rdb_rows rows = cyclic ? rdb_cyclic(total, block, rank, ranks)
							    : rdb_block(total, rank, ranks);
			for (long i = 0; i < rows.number; i++)
				seen[rows.first + i / rows.block * rows.step + i % rows.block]++;
		}
		for (long i = 0; i < 64; i++)
			if (seen[i] != (i < total))
				return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int bad = 0;
	for (long total = 0; total < 40; total++)
		for (long block = 1; block < 6; block++)
			for (int ranks = 1; ranks < 8; ranks++)
				bad += !whole(total, block, ranks);
	bad += !tried("", memory, 8, 0, 1, 1, 1);
	bad += !tried("a/b", memory, 8, 0, 1, 1, 1);
	bad += !tried("a name of more than 31 characters", memory, 8, 0, 1, 1, 1);
	bad += !tried("a23456789_123456789_123456789_12", memory, 8, 0, 1, 1, 1);
	bad += !tried("a", memory, 0, 0, 1, 1, 1);
	bad += !tried("a", memory, 8, -1, 1, 1, 1);
	bad += !tried("a", memory, 8, 0, -1, 1, 1);
	bad += !tried("a", memory, 8, 0, 2, 0, 1);
	bad += !tried("a", memory, 8, 0, 4, 2, 1);
	bad += !tried("a", memory, 8, 0, 1l << 50, 1, 1);
	bad += !tried("a", memory, 8, 1l << 50, 1, 1, 1);
	bad += !tried("a", memory, 8, 0, 8, 2, 1l << 50);
	bad += !tried("a", (void *)-4096l, 8, 0, 1, 1, 1);
	bad += !rdb_hooks_(RDB_HOOKS_DISTRIBUTE, (void *)1, 0, 0);
	bad += !rdb_redistribute("a", memory, 8, rdb_block(1, 0, 1));
	if (!strcmp(how, "hole")) {
		bad += tried("a23456789_123456789_123456789_1", memory, 8, 0, 3, 3, 3) != 0;
		bad += tried("a23456789_123456789_123456789_1", memory + 64, 8, 4, 3, 3, 3) != 0;
	} else if (!strcmp(how, "sizes")) {
		bad += tried("b", memory, 8, 0, 3, 3, 3) || tried("b", memory, 16, 3, 3, 3, 3);
	} else if (!strcmp(how, "gone")) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		bad += tried("c", p, 8, 0, 3, 3, 3) || munmap(p, 4096);
	} else if (!strcmp(how, "full")) {
		for (int i = 0; i < 64; i++)
			bad += tried("d", memory, 8, i, 1, 1, 1) != 0;
		bad += !tried("d", memory, 8, 64, 1, 1, 1);
		bad += tried("d", memory + 8, 8, 63, 1, 1, 1) != 0; /* again */
	}
	if (!strcmp(how, "moved")) {
		bad += tried("e", memory, 8, 0, 3, 3, 3) || tried("e", memory + 64, 8, 6, 3, 3, 3);
		bad += tried("e", NULL, 8, 0, 0, 0, 0) || tried("e", memory, 16, 0, 2, 2, 2);
		bad += tried("f", memory, 8, 0, 3, 3, 3) || tried("f", NULL, 8, 0, 0, 0, 0);
	}
	const int taken = rdb_checkpoint();
	printf("bad %d, asked %d\n", bad, taken);
	return 0;
}
