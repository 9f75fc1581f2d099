/* interposer/space/device_memory.c by itself: this program is the device, and the rest of rdb. */
#include "space/device_memory.c"
#include "space/device_quiet.c"
#include "arch/x86_64/space/blocks.c"
#include <immintrin.h>
#include <stdarg.h>
#include <stdio.h>

static const struct mode records = {.records = true};
struct lower lower = {.mode = &records, .event = 10};
static uint64_t logged[100][2]; /* address, length */
static unsigned nlogged, warned, cautioned;

void event_chunk_from(struct event *ev, uint64_t addr, enum rdb_note note, const void *data, size_t len)
{
	logged[nlogged][0] = addr;
	logged[nlogged++][1] = len;
	if (memcmp((const void *)addr, data, len))
		abort();
}

void event_out(struct event *ev, void *upper, size_t len)
{
	event_chunk_from(ev, (uint64_t)upper, 0, upper, len);
}

bool event_takes_chunks(const struct event *ev)
{
	return ev->kind != LOG_TSC;
}

bool shared_call_synchronises(const struct event *ev, bool contested)
{
	return ev->nr;
}

void caution(const char *fmt, ...)
{
	cautioned++;
}

void rdb_warn(const char *fmt, ...)
{
	warned++;
}

void rdb_fatal(const char *fmt, ...)
{
	abort();
}

static int failures;
#define CHECK(holds) \
	do { \
		if (!(holds)) { \
			printf("line %d: %s\n", __LINE__, #holds); \
			failures++; \
		} \
	} while (0)

static struct event *an_event(enum log_kind kind, uint32_t nr, int64_t result)
{
	static struct event ev;
	ev.kind = kind;
	ev.nr = nr;
	ev.result = result;
	nlogged = 0;
	return &ev;
}

#define POLL RDB_FN(RDB_NS_VERBS, 1)
enum { PAGES = 4, LEN = PAGES * 4096 };

/* Each line is found, wherever the search begins, and the program's vector registers are as they were. */
static void each_line_is_found(char *memory)
{
	const struct device_region *r = &device_table.r[0];
	for (uint64_t at = r->start; at < r->end; at += 24) {
		const uint64_t line = at & -(uint64_t)DEVICE_LINE;
		memory[at - r->start] ^= 1;
		for (uint64_t from = r->start; from < r->end; from += 7 * DEVICE_LINE)
			CHECK(device_differs(r, from, r->end) == (from <= line ? line : r->end));
		CHECK(device_differs(r, line, line + DEVICE_LINE) == line);
		CHECK(device_differs(r, r->start, line) >= line);
		memory[at - r->start] ^= 1;
	}
	CHECK(device_differs(r, r->start, r->end) == r->end);
}

static void registers_are_kept(void)
{
	uint64_t in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[2][8] = {{0}};
	const struct device_region *r = &device_table.r[0];
	if (!__builtin_cpu_supports("avx2"))
		return;
	uint64_t (*volatile call)(const struct device_region *, uint64_t, uint64_t) = device_differs;
	const bool wide = __builtin_cpu_supports("avx512f");
	/* all of it in one statement: the compiler has no part in what is in these registers meanwhile */
	register uint64_t a __asm__("rdi") = (uint64_t)r, b __asm__("rsi") = r->start, c __asm__("rdx") = r->end;
	if (wide)
		__asm__ volatile("vmovdqu64 (%4), %%zmm0; vmovdqu64 (%4), %%zmm1; sub $256, %%rsp; call *%3; add $256, %%rsp;"
				 "vmovdqu64 %%zmm0, (%5); vmovdqu64 %%zmm1, 64(%5)"
				 : "+r"(a), "+r"(b), "+r"(c)
				 : "r"(call), "b"(in), "r"((uint64_t *)out)
				 : "rax", "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1");
	else
		__asm__ volatile("vmovdqu (%4), %%ymm0; vmovdqu (%4), %%ymm1; sub $256, %%rsp; call *%3; add $256, %%rsp;"
				 "vmovdqu %%ymm0, (%5); vmovdqu %%ymm1, 64(%5)"
				 : "+r"(a), "+r"(b), "+r"(c)
				 : "r"(call), "b"(in), "r"((uint64_t *)out)
				 : "rax", "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1");
	CHECK(!memcmp(out[0], in, wide ? 64 : 32) && !memcmp(out[1], in, wide ? 64 : 32));
}

int main(void)
{
	char *memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t start = (uint64_t)memory;

	/* only what the program is told of is looked at, and the rest before a hash */
	device_memory(NULL, memory, LEN, false, true);
	CHECK(device_regions == 1 && !cautioned);
	each_line_is_found(memory);
	registers_are_kept();
	memory[100] = memory[5000] = memory[9000] = 1;
	CHECK(device_memory_quiet());
	device_memory_sync(an_event(LOG_HYPERCALL, POLL, 0));
	CHECK(!nlogged);
	device_memory_told(memory + 4990, 20);
	device_memory_told(NULL, 0);
	device_memory_sync(an_event(LOG_HYPERCALL, POLL, 1));
	CHECK(nlogged == 1 && logged[0][0] == start + 4992 && logged[0][1] == 64);
	CHECK(!device_memory_settled());
	device_memory_sync(an_event(LOG_HYPERCALL, POLL, 0));
	CHECK(nlogged == 2 && logged[0][0] == start + 64 && logged[1][0] == start + 8960);
	lower.event++;
	CHECK(device_memory_settled());

	/* who does not say what it told of may have told of all; so do calls that wait */
	memory[1] = 2;
	device_memory_told(memory + 4096, 8);
	device_memory_told(NULL, SIZE_MAX);
	device_memory_sync(an_event(LOG_HYPERCALL, POLL, 1));
	CHECK(nlogged == 1);
	memory[1] = 3;
	device_memory_sync(an_event(LOG_SYSCALL, 1, 0));
	CHECK(nlogged == 1);
	for (int i = 0; i <= TOLD; i++)
		device_memory_told(memory + 4096, 8);
	memory[1] = 4;
	device_memory_sync(an_event(LOG_HYPERCALL, POLL, 1));
	CHECK(nlogged == 1);

	/* a told range in two regions, of which others may write to one, which is looked at at each event */
	device_memory(NULL, memory + 4096, 4096, true, true);
	CHECK(device_regions == 3 && cautioned == 1);
	memory[4095] = memory[4096] = memory[3 * 4096] = 5;
	CHECK(!device_memory_quiet());
	device_memory_told(memory + 4000, 200);
	device_memory_sync(an_event(LOG_HYPERCALL, POLL, 1));
	CHECK(nlogged == 2 && logged[0][0] == start + 4032 && logged[1][0] == start + 4096);
	memory[5000] = 6;
	device_memory_sync(an_event(LOG_TSC, 0, 0));
	CHECK(nlogged == 1 && device_memory_quiet());

	/* a kernel that takes registered memory away at a fork: none while there is any */
	CHECK(device_memory_may_fork());
	device_memory_forks_break();
	CHECK(!device_memory_may_fork() && !warned);
	device_memory(NULL, memory + 4096, 4096, true, false);
	device_memory(NULL, memory, LEN, false, false);
	CHECK(device_memory_may_fork() && !device_regions);
	device_memory(NULL, memory, LEN, false, true);
	CHECK(warned == 1 && !device_memory_may_fork());
	printf("%s\n", failures ? "failed" : "ok");
	return failures != 0;
}
