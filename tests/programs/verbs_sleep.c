/* The server waits in read(2) while the client works on its memory. */
#include "verbs_pair.h"

enum { COUNT = 50, PIECE = 4096, MANY = 5000, SMALL = COUNT * PIECE };

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, false);
	if (it.server) {
		char c;
		hear(&c, 1);
		unsigned long sum = 0;
		for (int i = 0; i < COUNT * PIECE; i++)
			sum += (unsigned char)it.buffer[i];
		printf("sum %lu\n", sum);
		for (int i = 0; i < MANY; i++)
			sum += *(uint64_t *)(it.buffer + SMALL + 16 * i);
		printf("and %lu\n", sum);
	} else {
		for (int i = 0; i < COUNT; i++) {
			memset(it.buffer, i + 1, PIECE);
			post(1, IBV_WR_RDMA_WRITE, 0, PIECE, (size_t)i * PIECE);
			succeed(1);
		}
		post(2, IBV_WR_RDMA_READ, PIECE, 2 * PIECE, 0);
		succeed(2);
		CHECK(it.buffer[PIECE] == 1 && it.buffer[2 * PIECE] == 2);
		/* more pieces than are kept apart until its next event */
		for (int i = 0; i < MANY; i++) {
			*(uint64_t *)it.buffer = (uint64_t)i;
			post(3, IBV_WR_RDMA_WRITE, 0, 8, (size_t)SMALL + 16 * (size_t)i);
			succeed(3);
		}
		tell("x", 1);
	}
	part();
	return 0;
}
