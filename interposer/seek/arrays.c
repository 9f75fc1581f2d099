#include "seek/arrays.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <tgmath.h>
#include "seek/arrays_walk.h"
#include "space/upper_memory.h"
#include "base/guarded_copy.h"
#include "base/crc32c.h"

enum { PIECE = 1024, RAW = 65536, DEPTH = 6 };

static const uint8_t size_of[] = {
	[AGENT_I8] = 1,  [AGENT_U8] = 1,  [AGENT_I16] = 2, [AGENT_U16] = 2, [AGENT_I32] = 4,  [AGENT_U32] = 4,
	[AGENT_I64] = 8, [AGENT_U64] = 8, [AGENT_F32] = 4, [AGENT_F64] = 8, [AGENT_X87] = 16, [AGENT_F16] = 2,
};
enum { TYPES = sizeof(size_of) / sizeof(size_of[0]) };

/* The fold so far.  `last` is the element before, for AGENT_FOLD_SORTED. */
struct state {
	long double value, last;
	uint64_t index;
	uint32_t crc;
	bool some, done;
};

static struct {
	char raw[RAW];
	union {
		double plain[DEPTH + 1][PIECE];
		long double wide[DEPTH + 1][PIECE];
	} numbers;
	uint64_t next[AGENT_OPERANDS]; /* for an operand that walks: node after the piece */
	bool in_place;                 /* read the program's memory directly; only within guarded_call() */
} room;

static bool read_program(uint64_t addr, void *to, size_t len)
{
	if (!room.in_place)
		return upper_read(addr, to, len) == len;
	memcpy(to, (const void *)addr, len);
	return true;
}

/* The value of a fold over no elements. */
static long double of_none(uint32_t fold)
{
	switch (fold) {
	case AGENT_FOLD_ALL:
	case AGENT_FOLD_SORTED:
	case AGENT_FOLD_PRODUCT: return 1;
	case AGENT_FOLD_MAX: return -INFINITY;
	case AGENT_FOLD_MIN: return INFINITY;
	default: return 0;
	}
}

static bool fold_of_extremes(uint32_t fold)
{
	return fold == AGENT_FOLD_MAX || fold == AGENT_FOLD_MIN || fold == AGENT_FOLD_WHERE_MAX ||
	       fold == AGENT_FOLD_WHERE_MIN;
}

static uint64_t distance(int64_t stride)
{
	return (uint64_t)(stride < 0 ? -stride : stride);
}

/* Returns N elements as a contiguous array: the program's own memory, or a copy in room.raw. */
static const void *gather_in_place(uint64_t addr, int64_t stride, size_t size, size_t n)
{
	const char *from = (const char *)addr;

	if (stride == (int64_t)size && addr % size == 0)
		return from;
	for (size_t i = 0; i < n; i++) {
		char *to = room.raw + i * size;
		if (size == 8)
			memcpy(to, from, 8);
		else if (size == 4)
			memcpy(to, from, 4);
		else
			memcpy(to, from, size);
		from += stride;
	}
	return room.raw;
}

/* Returns N elements from *ADDR on as a contiguous array.  NULL: *addr is the address that cannot be read. */
static const void *gather_strides(uint64_t *addr, int64_t stride, size_t size, size_t n)
{
	uint64_t far = distance(stride);
	uint64_t start;
	size_t span, got;

	if (room.in_place)
		return gather_in_place(*addr, stride, size, n);
	span = (n - 1) * far + size;
	start = stride < 0 ? *addr - (n - 1) * far : *addr;
	got = upper_read(start, room.raw, span);
	if (got < span) {
		*addr = start + got;
		return NULL;
	}
	if (stride == (int64_t)size)
		return room.raw;
	if (stride < 0) {
		for (size_t i = 0; i < n / 2; i++) { /* reverse the order of the elements */
			char other[16];
			memcpy(other, room.raw + i * far, size);
			memcpy(room.raw + i * far, room.raw + (n - 1 - i) * far, size);
			memcpy(room.raw + (n - 1 - i) * far, other, size);
		}
	}
	for (size_t i = 0; i < n; i++)
		memmove(room.raw + i * size, room.raw + i * far, size);
	return room.raw;
}

/* The same for any operand.  INDEX is the index of the first element. */
static const void *gather(const struct agent_array *plan, uint32_t which, uint64_t addr, uint64_t index, size_t n,
			  uint64_t *refused)
{
	const struct agent_array_operand *operand = &plan->operand[which];
	size_t size = size_of[operand->type];

	*refused = addr;
	if (!operand->walk)
		return gather_strides(refused, operand->stride[0], size, n);
	if (!arrays_walk(operand, refused, index, size, n, room.raw, read_program))
		return NULL;
	room.next[which] = *refused;
	return room.raw;
}

/* IEEE 754 binary16, which not every compiler has. */
static float half(uint16_t from)
{
	uint32_t exponent = from >> 10 & 31, fraction = from & 1023;
	uint32_t bits = (uint32_t)(from & 0x8000) << 16 | (exponent == 31 ? 255 : exponent + 112) << 23 |
			fraction << 13;
	float to;

	if (exponent == 0) /* zero or subnormal */
		return (from & 0x8000 ? -1.0F : 1.0F) * (float)fraction * 0x1p-24F;
	memcpy(&to, &bits, sizeof(to));
	return to;
}

#define NUMBER double
#define NAME(x) x##_plain
#define ROOM room.numbers.plain
#define OWN AGENT_F64
#include "seek/arrays_numbers.h"
#undef NUMBER
#undef NAME
#undef ROOM
#undef OWN
#define NUMBER long double
#define NAME(x) x##_wide
#define ROOM room.numbers.wide
#define OWN AGENT_X87
#include "seek/arrays_numbers.h"

static bool sound(const struct agent_array *plan)
{
	unsigned depth = 0;

	if (plan->dimensions < 1 || plan->dimensions > AGENT_DIMENSIONS || plan->operands < 1 ||
	    plan->operands > AGENT_OPERANDS || plan->steps < 1 || plan->steps > AGENT_STEPS ||
	    plan->fold < AGENT_FOLD_ALL || plan->fold > AGENT_FOLD_WHERE_MIN)
		return false;
	for (uint32_t i = 0; i < plan->operands; i++) {
		const struct agent_array_operand *operand = &plan->operand[i];
		if (operand->type < AGENT_I8 || operand->type >= TYPES || operand->walk > AGENT_RING ||
		    (operand->walk && plan->dimensions > 1) ||
		    (operand->walk >= AGENT_BLOCKS && operand->stride[AGENT_BLOCK_ELEMENTS] < 1))
			return false;
	}
	for (uint32_t i = 0; i < plan->steps; i++) {
		const struct agent_array_step *step = &plan->step[i];
		if (step->op == AGENT_LOAD ? step->which >= plan->operands : step->op > AGENT_MASKED)
			return false;
		if (step->op == AGENT_MASKED &&
		    (i + 1 < plan->steps || plan->fold == AGENT_FOLD_SORTED || plan->fold == AGENT_FOLD_CHECKSUM))
			return false;
		unsigned takes = step->op <= AGENT_NUMBER ? 0 : step->op < AGENT_ADD ? 1 : 2;
		if (step->op < AGENT_LOAD || depth < takes || depth - takes >= DEPTH)
			return false;
		depth = depth - takes + 1;
	}
	return depth == 1;
}

static bool is_wide(const struct agent_array *plan)
{
	for (uint32_t i = 0; i < plan->operands; i++)
		if (plan->operand[i].type == AGENT_I64 || plan->operand[i].type == AGENT_U64 ||
		    plan->operand[i].type == AGENT_X87)
			return true;
	return false;
}

/* Addresses at which row ROW begins in each operand. */
static void row_begins(const struct agent_array *plan, uint64_t row, uint64_t *addr)
{
	for (uint32_t i = 0; i < plan->operands; i++)
		addr[i] = plan->operand[i].addr;
	for (uint32_t d = 1; d < plan->dimensions; d++) {
		for (uint32_t i = 0; i < plan->operands; i++)
			addr[i] += (row % plan->extent[d]) * (uint64_t)plan->operand[i].stride[d];
		row /= plan->extent[d];
	}
}

/* Finds the node of element INDEX in each operand that walks. */
static bool find_nodes(const struct agent_array *plan, uint64_t index, uint64_t *node)
{
	for (uint32_t i = 0; i < plan->operands; i++) {
		const struct agent_array_operand *operand = &plan->operand[i];
		node[i] = operand->addr;
		for (uint64_t at = 0; at < index && operand->walk;) {
			size_t n = index - at < PIECE ? (size_t)(index - at) : PIECE;
			if (!arrays_walk(operand, &node[i], at, size_of[operand->type], n, room.raw, read_program))
				return false;
			at += n;
		}
	}
	return true;
}

struct folding {
	const struct agent_array *plan;
	struct agent_array_found *found;
	struct state state;
	uint64_t rows;
	int rc;
};

static void fold_all(void *arg)
{
	struct folding *f = arg;
	const struct agent_array *plan = f->plan;
	uint64_t addr[AGENT_OPERANDS];
	bool wide = is_wide(plan);

	f->state = (struct state){.index = UINT64_MAX};
	f->state.value = of_none(plan->fold);
	f->rc = 0;
	for (uint64_t row = 0; row < f->rows && plan->extent[0] && !f->state.done; row++) {
		row_begins(plan, row, addr);
		for (uint64_t at = 0; at < plan->extent[0] && !f->state.done;) {
			uint64_t index = row * plan->extent[0] + at;
			size_t n = plan->extent[0] - at < PIECE ? (size_t)(plan->extent[0] - at) : PIECE;
			n = wide ? piece_wide(plan, addr, n, index, &f->state, &f->found->index)
				 : piece_plain(plan, addr, n, index, &f->state, &f->found->index);
			if (!n) {
				f->rc = -EFAULT;
				return;
			}
			at += n;
			for (uint32_t i = 0; i < plan->operands; i++)
				addr[i] = plan->operand[i].walk ? room.next[i]
								: addr[i] + n * (uint64_t)plan->operand[i].stride[0];
		}
	}
	if (f->state.index != UINT64_MAX && !find_nodes(plan, f->state.index, f->found->node))
		f->rc = -EFAULT;
}

int arrays_fold(const struct agent_array *plan, struct agent_array_found *found)
{
	struct folding f = {.plan = plan, .found = found, .rows = 1};

	memset(found, 0, sizeof(*found));
	if (!sound(plan))
		return -EINVAL;
	for (uint32_t d = 1; d < plan->dimensions; d++)
		if (__builtin_mul_overflow(f.rows, plan->extent[d], &f.rows))
			return -EINVAL;
	if (__builtin_mul_overflow(f.rows, plan->extent[0], &found->elements))
		return -EINVAL;
	room.in_place = true;
	if (!guarded_call(fold_all, &f)) {
		room.in_place = false; /* upper_read() also reads protected pages and reports what is not mapped */
		fold_all(&f);
	}
	if (f.rc)
		return f.rc;
	if (plan->fold == AGENT_FOLD_CHECKSUM)
		f.state.value = f.state.crc;
	if (plan->fold == AGENT_FOLD_WHERE_MAX || plan->fold == AGENT_FOLD_WHERE_MIN)
		f.state.value = f.state.index == UINT64_MAX ? -1 : (long double)f.state.index;
	found->high = (double)f.state.value;
	found->low = __builtin_isfinite(found->high) ? (double)(f.state.value - (long double)found->high) : 0;
	found->index = f.state.index;
	return 0;
}
