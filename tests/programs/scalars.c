/* A scalar of each kind, with other values at every second event; locals, members, bit fields, pointers. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum colour { RED, GREEN = 70000, BLUE = -5 };
struct part {
	float f;
	double d;
	unsigned b : 3;
	int s : 5;
	struct {
		signed char c[4];
	} in;
	struct part *next;
};

static int8_t i8;
static uint8_t u8;
static int16_t i16;
static uint16_t u16;
static int i32;
static unsigned u32;
static int64_t i64;
static uint64_t u64;
static float f32;
static double f64;
static long double f80;
static bool truth;
static enum colour hue;
static char glyph;
static struct part part, other;
static int *where = &i32;

static void note(int *kept)
{
	kept[0] += kept[1] % 3;
}

static void step(int turn, double local)
{
	int mine = turn * 30, kept[2] = {turn, turn + 1};
	getppid();
	mine -= 100;
	note(kept);
	getppid();
	note(kept);
	f32 += (float)mine + (float)local + (float)kept[0];
}

int main(void)
{
	for (int turn = 0; turn < 9; turn++) {
		i8 = (int8_t)(turn * 37);
		u8 = (uint8_t)(turn * 37);
		i16 = (int16_t)(turn * 7001);
		u16 = (uint16_t)(turn * 7001);
		u32 = (unsigned)turn * 700000007u;
		i32 = (int)u32;
		u64 = (uint64_t)turn * 2345678901234567891ull;
		i64 = (int64_t)u64;
		f32 = (float)turn / 3;
		f64 = turn % 4 == 1 ? NAN : turn % 4 == 2 ? -INFINITY : turn / 3.0;
		f80 = (long double)turn / 3;
		truth = turn % 3 == 0;
		hue = turn % 3 == 0 ? RED : turn % 3 == 1 ? GREEN : BLUE;
		glyph = (char)('a' + turn);
		part.f = f32 * 2;
		part.d = -f64;
		part.b = (unsigned)turn & 7;
		part.s = turn % 16 - 8;
		part.in.c[2] = (signed char)turn;
		other = part;
		other.f = -part.f;
		other.next = turn % 4 ? NULL : &part;
		part.next = &other;
		step(turn, turn * 0.5);
	}
	printf("%d\n", i32);
	return 0;
}
