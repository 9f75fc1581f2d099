/* Both sides poll memory for the other's RDMA write: no event happens while they wait. */
#include "verbs_pair.h"

enum { ROUNDS = 200, IN = 0, OUT = 4096 };

static uint64_t spun;

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, false);
	volatile uint64_t *in = (void *)(it.buffer + IN);
	uint64_t sum = 0;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		/* what came is read before the answer, which lets the other side write again */
		if (it.server) {
			while (*in != round)
				spun++;
			sum += in[1];
		}
		*(uint64_t *)(it.buffer + OUT) = round;
		*(uint64_t *)(it.buffer + OUT + 8) = round * round;
		post(round, IBV_WR_RDMA_WRITE, OUT, 16, IN);
		if (!it.server) {
			while (*in != round)
				spun++;
			sum += in[1];
		}
		succeed(round);
	}
	/* how often it looked is a part of its memory, and of what a replay must get right */
	printf("sum %lu, looked %s\n", (unsigned long)sum, spun ? "often" : "never");
	CHECK(sum == (uint64_t)ROUNDS * (ROUNDS + 1) * (2 * ROUNDS + 1) / 6);
	part();
	return 0;
}
