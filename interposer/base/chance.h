/* Numbers at random, for --chaos.  Any thread may ask at any time. */
#pragma once
#include <stdint.h>

/* A number below `below`, not 0. */
uint64_t chance_below(uint64_t below);
/* From 2^least to below 2^(most + 1), each power as often. */
uint64_t chance_magnitude(unsigned least, unsigned most);
