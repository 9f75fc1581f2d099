/* Every operation of RC between two processes, completions polled. */
#include "verbs_pair.h"

enum { MESSAGE = 0, LANDING = 4096, WORDS = 8192, RESULT = 12288, LARGE = 65536, BYTES = 300000 };

static void serve(void)
{
	post_recv(1, LANDING, 64);
	post_recv(2, LANDING + 64, 64);
	post_recv(3, 0, 0);
	*(uint64_t *)(it.buffer + WORDS) = 7;
	meet();
	struct ibv_wc wc = succeed(1);
	CHECK(wc.opcode == IBV_WC_RECV && wc.byte_len == 6 && !memcmp(it.buffer + LANDING, "hello", 6));
	wc = succeed(2);
	CHECK((wc.wc_flags & IBV_WC_WITH_IMM) && ntohl(wc.imm_data) == 12 && wc.byte_len == 6);
	wc = succeed(3);
	CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.byte_len == BYTES);
	for (int i = 0; i < BYTES; i++)
		CHECK(it.buffer[LARGE + i] == (char)(i * 7));
	meet();
	CHECK(*(uint64_t *)(it.buffer + WORDS) == 77);
	printf("server: word %lu\n", *(unsigned long *)(it.buffer + WORDS));
}

static void request(void)
{
	meet();
	strcpy(it.buffer + MESSAGE, "hello");
	post(11, IBV_WR_SEND, MESSAGE, 6, 0);
	CHECK(succeed(11).opcode == IBV_WC_SEND);
	post(12, IBV_WR_SEND_WITH_IMM, MESSAGE, 6, 0);
	succeed(12);
	for (int i = 0; i < BYTES; i++)
		it.buffer[LARGE + i] = (char)(i * 7);
	post(13, IBV_WR_RDMA_WRITE_WITH_IMM, LARGE, BYTES, LARGE);
	CHECK(succeed(13).opcode == IBV_WC_RDMA_WRITE);
	memset(it.buffer + LARGE, 0, BYTES);
	post(14, IBV_WR_RDMA_READ, LARGE, BYTES, LARGE);
	CHECK(succeed(14).opcode == IBV_WC_RDMA_READ);
	for (int i = 0; i < BYTES; i++)
		CHECK(it.buffer[LARGE + i] == (char)(i * 7));
	post(15, IBV_WR_ATOMIC_FETCH_AND_ADD, RESULT, 8, WORDS);
	CHECK(succeed(15).opcode == IBV_WC_FETCH_ADD && *(uint64_t *)(it.buffer + RESULT) == 7);
	post(16, IBV_WR_ATOMIC_CMP_AND_SWP, RESULT, 8, WORDS);
	CHECK(succeed(16).opcode == IBV_WC_COMP_SWAP && *(uint64_t *)(it.buffer + RESULT) == 12);
	meet();
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, false);
	if (it.server)
		serve();
	else
		request();
	part();
	return 0;
}
