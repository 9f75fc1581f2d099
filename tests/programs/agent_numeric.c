/* Floating point, vectors and bit twiddling: what the agent carries out itself must be what the
 * processor does. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static double a[16][16], b[16][16], c[16][16];
static float f[60];
static int v[60];
static unsigned char s[300];

int main(void)
{
	uint64_t x = 88172645463325252ull;
	unsigned p = 0;
	double d = 0, q = 0.1;
	int above = 0;
	char text[100];

	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 16; j++)
			a[i][j] = i * 0.5 + j, b[i][j] = i - j * 0.25;
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 16; k++)
			for (int j = 0; j < 16; j++)
				c[i][j] += a[i][k] * b[k][j];
	for (int i = 0; i < 60; i++) {
		f[i] = sqrtf((float)i) * 1.5f;
		v[i] = (int)f[i] * i;
	}
	for (int i = 0; i < 300; i++)
		s[i] = (unsigned char)((s[i * 7 % 300] + i * 13) >> 1);
	for (int i = 0; i < 60; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		p += (unsigned)(__builtin_popcountll(x) + __builtin_ctzll(x | 1) + __builtin_clzll(x | 1));
		p = (p << 7) | (p >> 25);
		p += __builtin_bswap32(p) / 7 + (unsigned)((int)p % 11);
	}
	for (int i = 1; i < 30; i++) {
		d += exp(1.0 / i) * sin(i) + floor(i * 0.7) - fmod(i, 3.3) + pow(i, 0.3);
		q = q * 3.7 * (1 - q);
		above += q > 0.5;
		d += isnan(q) + (float)v[i] / (1 + f[i]);
	}
	snprintf(text, sizeof(text), "%g %u %g %g %d %d", c[7][9], p, d, q, above, s[200]);
	puts(strchr(text, ' '));
	return 0;
}
