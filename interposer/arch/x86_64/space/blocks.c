#include "arch/blocks.h"
#include <stdbool.h>

/* Uses two vector registers of the program and restores them, to their full width: VEX instructions clear the bits
 * above 256 (Intel SDM vol. 2, 2.3.10.1). */
static const char *in_vectors(const char *a, const char *b, const char *end, bool avx512)
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

const char *blocks_differ(const char *a, const char *b, const char *end)
{
	if (!vectors)
		ask_processor();
	return vectors == WORDS ? a : in_vectors(a, b, end, vectors == AVX512);
}
