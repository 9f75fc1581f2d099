#include "base/chance.h"
#include <sys/random.h>

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t random_word(void)
{
	static uint64_t state;
	uint64_t seed;
	/* without a seed all ranks have the same numbers, which does no harm */
	if (!__atomic_load_n(&state, __ATOMIC_RELAXED) && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		__atomic_store_n(&state, seed, __ATOMIC_RELAXED);
	uint64_t z = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t chance_below(uint64_t below)
{
	return random_word() % below;
}

uint64_t chance_magnitude(unsigned least, unsigned most)
{
	const uint64_t power = least + chance_below(most - least + 1);
	return (1ul << power) + chance_below(1ul << power);
}
