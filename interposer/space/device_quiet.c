#include "space/device_quiet.h"
#include <stddef.h>
#include "space/device_memory.h"

enum { BLOCK = 2 * DEVICE_LINE }; /* regions are whole pages */

static bool same_line(const char *a, const char *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4]) | (x[5] ^ y[5]) |
		 (x[6] ^ y[6]) | (x[7] ^ y[7]));
}

/* With two of the program's vector registers, which are put back; what a program keeps beyond their 256 bits VEX
 * instructions would clear (Intel SDM vol. 2, 2.3.10.1). */
static const char *differs_in_vectors(const char *a, const char *b, const char *end, bool avx512)
{
	char kept[2][64] __attribute__((aligned(64)));
	if (avx512)
		__asm__ volatile("vmovdqa64 %%zmm0, (%0); vmovdqa64 %%zmm1, 64(%0)" ::"r"(kept) : "memory");
	else
		__asm__ volatile("vmovdqa %%ymm0, (%0); vmovdqa %%ymm1, 64(%0)" ::"r"(kept) : "memory");
	__asm__ volatile("1:\n\t"
			 "vmovdqu (%[a]), %%ymm0\n\t"
			 "vmovdqu 32(%[a]), %%ymm1\n\t"
			 "vpxor (%[b]), %%ymm0, %%ymm0\n\t"
			 "vpxor 32(%[b]), %%ymm1, %%ymm1\n\t"
			 "vpor %%ymm1, %%ymm0, %%ymm0\n\t"
			 "vmovdqu 64(%[a]), %%ymm1\n\t"
			 "vpxor 64(%[b]), %%ymm1, %%ymm1\n\t"
			 "vpor %%ymm1, %%ymm0, %%ymm0\n\t"
			 "vmovdqu 96(%[a]), %%ymm1\n\t"
			 "vpxor 96(%[b]), %%ymm1, %%ymm1\n\t"
			 "vpor %%ymm1, %%ymm0, %%ymm0\n\t"
			 "vptest %%ymm0, %%ymm0\n\t"
			 "jnz 2f\n\t"
			 "subq $-128, %[a]\n\t"
			 "subq $-128, %[b]\n\t"
			 "cmpq %[end], %[a]\n\t"
			 "jb 1b\n"
			 "2:"
			 : [a] "+r"(a), [b] "+r"(b)
			 : [end] "r"(end)
			 : "memory", "cc");
	if (avx512)
		__asm__ volatile("vmovdqa64 (%0), %%zmm0; vmovdqa64 64(%0), %%zmm1" ::"r"(kept) : "memory");
	else
		__asm__ volatile("vmovdqa (%0), %%ymm0; vmovdqa 64(%0), %%ymm1" ::"r"(kept) : "memory");
	return a;
}

static enum { UNKNOWN, WORDS, AVX2, AVX512 } vectors;

static void ask_processor(void)
{
	__builtin_cpu_init();
	vectors = __builtin_cpu_supports("avx512f") ? AVX512 : __builtin_cpu_supports("avx2") ? AVX2 : WORDS;
}

uint64_t device_differs(const struct device_region *r, uint64_t from, uint64_t to)
{
	const char *a = (const char *)from, *b = r->shadow + (from - r->start), *end = (const char *)to;
	if (!vectors)
		ask_processor();
	if (from % BLOCK && same_line(a, b)) {
		a += DEVICE_LINE;
		b += DEVICE_LINE;
	}
	if ((uint64_t)a % BLOCK == 0 && a < end && vectors != WORDS) {
		const char *block = differs_in_vectors(a, b, end, vectors == AVX512);
		b += block - a;
		a = block;
	}
	for (; a < end && same_line(a, b); a += DEVICE_LINE)
		b += DEVICE_LINE;
	return (uint64_t)a;
}

static bool differs(const struct device_region *r)
{
	return device_differs(r, r->start, r->end) < r->end;
}

bool device_memory_quiet(void)
{
	if (device_table.wanted)
		return false;
	if (!device_table.remote_bytes || device_table.remote_bytes > DEVICE_SMALL_REMOTE)
		return true;
	for (unsigned i = 0; i < device_regions; i++)
		if (device_table.r[i].remote_users && differs(&device_table.r[i]))
			return false;
	return true;
}
