/* The arithmetic of arrays.c on the type NUMBER.  Included once for each type. */

/* Converts N elements at WHOLE into TO. Returns WHOLE itself if its elements are of type NUMBER and not in
 * room.raw. */
static const NUMBER *NAME(convert)(uint32_t type, const void *whole, NUMBER *restrict to, size_t n)
{
#define FROM(kind, c_type) FROM_BY(kind, c_type, from[i])
#define FROM_BY(kind, c_type, value) \
	case kind: { \
		const c_type *restrict from = whole; \
		for (size_t i = 0; i < n; i++) \
			to[i] = (NUMBER)(value); \
		return to; \
	}
	if (type == OWN && whole != room.raw)
		return whole;
	switch (type) {
		FROM(AGENT_I8, int8_t)
		FROM(AGENT_U8, uint8_t)
		FROM(AGENT_I16, int16_t)
		FROM(AGENT_U16, uint16_t)
		FROM(AGENT_I32, int32_t)
		FROM(AGENT_U32, uint32_t)
		FROM(AGENT_I64, int64_t)
		FROM(AGENT_U64, uint64_t)
		FROM(AGENT_F32, float)
		FROM(AGENT_F64, double)
		FROM(AGENT_X87, long double)
		FROM_BY(AGENT_F16, uint16_t, half(from[i]))
	}
#undef FROM_BY
#undef FROM
	return to;
}

#define EACH(value) \
	for (size_t i = 0; i < n; i++) \
		to[i] = (value); \
	return
#define TRUTH(value) EACH((value) ? (NUMBER)1 : (NUMBER)0)
/* Negative if both are: of a signed type, then. */
#define BITS(sign) \
	EACH(a[i] < 0 || b[i] < 0 ? (NUMBER)(int64_t)(NAME(bits)(a[i]) sign NAME(bits)(b[i])) \
				  : (NUMBER)(NAME(bits)(a[i]) sign NAME(bits)(b[i])))

static void NAME(one)(uint32_t op, NUMBER *restrict to, const NUMBER *restrict a, size_t n)
{
	switch (op) {
	case AGENT_ABS: EACH(a[i] < 0 ? -a[i] : a[i]);
	case AGENT_NEGATE: EACH(-a[i]);
	case AGENT_NOT: TRUTH(a[i] == 0);
	case AGENT_FINITE: TRUTH(a[i] - a[i] == 0); /* inf - inf and NaN - NaN are NaN */
	case AGENT_NAN: TRUTH(a[i] != a[i]);
	case AGENT_INFINITE: TRUTH(__builtin_isinf(a[i]));
	case AGENT_ROOT: EACH((NUMBER)sqrt(a[i]));
	}
}

static NUMBER NAME(power)(NUMBER a, NUMBER b)
{
	NUMBER to = 1;

	if (b != trunc(b) || b < 0 || b > 64)
		return (NUMBER)pow(a, b);
	for (int n = (int)b; n; n--) /* exact as long as the value is */
		to *= a;
	return to;
}

/* fmod() is exact, and so is the division of a multiple. */
static NUMBER NAME(quotient)(NUMBER a, NUMBER b)
{
	return (a - (NUMBER)fmod(a, b)) / b;
}

/* The 64 bits of a whole number. */
static uint64_t NAME(bits)(NUMBER a)
{
	if (!(a >= -0x1p63L && a < 0x1p64L))
		return 0;
	return a < 0 ? (uint64_t)(int64_t)a : (uint64_t)a;
}

static void NAME(two)(uint32_t op, NUMBER *restrict to, const NUMBER *a, const NUMBER *b, size_t n)
{
	switch (op) {
	case AGENT_ADD: EACH(a[i] + b[i]);
	case AGENT_SUBTRACT: EACH(a[i] - b[i]);
	case AGENT_MULTIPLY: EACH(a[i] * b[i]);
	case AGENT_DIVIDE: EACH(a[i] / b[i]);
	case AGENT_LESS: TRUTH(a[i] < b[i]);
	case AGENT_LESS_EQUAL: TRUTH(a[i] <= b[i]);
	case AGENT_GREATER: TRUTH(a[i] > b[i]);
	case AGENT_GREATER_EQUAL: TRUTH(a[i] >= b[i]);
	case AGENT_EQUAL: TRUTH(a[i] == b[i]);
	case AGENT_NOT_EQUAL: TRUTH(a[i] != b[i]);
	case AGENT_AND: TRUTH((a[i] != 0) & (b[i] != 0));
	case AGENT_OR: TRUTH((a[i] != 0) | (b[i] != 0));
	case AGENT_POWER: EACH(NAME(power)(a[i], b[i]));
	case AGENT_QUOTIENT: EACH(NAME(quotient)(a[i], b[i]));
	case AGENT_REMAINDER: EACH((NUMBER)fmod(a[i], b[i]));
	case AGENT_BITS_AND: BITS(&);
	case AGENT_BITS_OR: BITS(|);
	case AGENT_BITS_XOR: BITS(^);
	}
}
#undef BITS
#undef TRUTH
#undef EACH

static void NAME(decides)(struct state *state, uint64_t index, NUMBER value, bool done)
{
	state->value = value;
	state->index = index;
	state->done = done;
}

/* Number of the first COUNT indices for which SO holds.  It has no branch, so that the compiler can vectorize it. */
#define HOW_MANY(count, so) \
	({ \
		int64_t many = 0; \
		for (size_t i = 0; i < (count); i++) \
			many += (so); \
		many; \
	})

/* Updates the maximum or minimum and the first index that has it.  A NaN ends the fold and is its result. */
static void NAME(extreme)(bool greatest, const NUMBER *a, size_t n, uint64_t index, struct state *state)
{
	NUMBER most = state->some ? (NUMBER)state->value : a[0];
	bool any = !state->some;
	size_t at = 0;

	if (state->some && !(greatest ? HOW_MANY(n, !(a[i] <= most)) : HOW_MANY(n, !(a[i] >= most))))
		return;
	for (size_t i = 0; i < n; i++) {
		if (a[i] != a[i]) {
			NAME(decides)(state, index + i, a[i], true);
			return;
		}
		if (greatest ? a[i] > most : a[i] < most) {
			most = a[i];
			at = i;
			any = true;
		}
	}
	state->some = true;
	if (any)
		NAME(decides)(state, index + at, most, false);
}

/* The same of the elements for which MASK is not 0. */
static void NAME(masked_extreme)(bool greatest, const NUMBER *a, const NUMBER *mask, size_t n, uint64_t index,
				 struct state *state)
{
	for (size_t i = 0; i < n && !state->done; i++) {
		NUMBER most = (NUMBER)state->value;
		if (mask[i] == 0 || (state->some && (greatest ? a[i] <= most : a[i] >= most)))
			continue;
		state->some = true;
		NAME(decides)(state, index + i, a[i], a[i] != a[i]);
	}
}

static void NAME(sorted)(const NUMBER *a, size_t n, uint64_t index, struct state *state)
{
	NUMBER before = state->some ? (NUMBER)state->last : a[0];
	size_t i = 0;

	if (before <= a[0] && !HOW_MANY(n - 1, !(a[i] <= a[i + 1]))) {
		state->some = true;
		state->last = a[n - 1];
		return;
	}
	for (; i < n && before <= a[i]; i++)
		before = a[i];
	NAME(decides)(state, index + i, 0, true);
}

/* MASK: which elements count; NULL: all.  TO: room for N numbers. */
static void NAME(fold)(uint32_t fold, const NUMBER *a, const NUMBER *mask, NUMBER *restrict to, size_t n,
		       uint64_t index, struct state *state)
{
	NUMBER sum = 0;
	size_t at = 0;

	if (mask && fold_of_extremes(fold)) {
		NAME(masked_extreme)(fold == AGENT_FOLD_MAX || fold == AGENT_FOLD_WHERE_MAX, a, mask, n, index, state);
		return;
	}
	if (mask) {
		for (size_t i = 0; i < n; i++)
			to[i] = mask[i] != 0 ? a[i] : (NUMBER)of_none(fold);
		a = to;
	}
	switch (fold) {
	case AGENT_FOLD_ALL:
		if (!HOW_MANY(n, a[i] == 0))
			return;
		while (a[at] != 0)
			at++;
		NAME(decides)(state, index + at, 0, true);
		return;
	case AGENT_FOLD_ANY:
		if (!HOW_MANY(n, a[i] != 0))
			return;
		while (a[at] == 0)
			at++;
		NAME(decides)(state, index + at, 1, true);
		return;
	case AGENT_FOLD_COUNT: state->value += HOW_MANY(n, a[i] != 0); return;
	case AGENT_FOLD_SUM:
		for (size_t i = 0; i < n; i++)
			sum += a[i];
		state->value += sum;
		return;
	case AGENT_FOLD_PRODUCT:
		for (size_t i = 0; i < n; i++)
			state->value *= a[i];
		return;
	case AGENT_FOLD_MAX:
	case AGENT_FOLD_WHERE_MAX: NAME(extreme)(true, a, n, index, state); return;
	case AGENT_FOLD_MIN:
	case AGENT_FOLD_WHERE_MIN: NAME(extreme)(false, a, n, index, state); return;
	case AGENT_FOLD_SORTED: NAME(sorted)(a, n, index, state); return;
	}
}
#undef HOW_MANY

/* Evaluates at most N elements, the first of which has index INDEX. Returns their number; 0: *refused cannot be
 * read. */
static size_t NAME(piece)(const struct agent_array *plan, const uint64_t *addr, size_t n, uint64_t index,
			  struct state *state, uint64_t *refused)
{
	NUMBER *free_room[DEPTH + 1]; /* an operation's result never overlaps its operands */
	const NUMBER *stack[DEPTH], *mask = NULL;
	unsigned depth = 0;

	for (unsigned i = 0; i <= DEPTH; i++)
		free_room[i] = ROOM[i];
	for (uint32_t i = 0; i < plan->operands && !room.in_place; i++) { /* room.raw limits the number of elements */
		uint64_t far = plan->operand[i].walk ? 0 : distance(plan->operand[i].stride[0]);
		size_t most = far ? (RAW - 16) / far + 1 : n;
		n = most < n ? most : n;
	}
	for (uint32_t s = 0; s < plan->steps; s++) {
		const struct agent_array_step *step = &plan->step[s];
		unsigned at = depth - (step->op <= AGENT_NUMBER ? 0 : step->op < AGENT_ADD ? 1 : 2);
		NUMBER *to = free_room[DEPTH];

		if (step->op == AGENT_LOAD) {
			const struct agent_array_operand *operand = &plan->operand[step->which];
			const void *from = gather(plan, step->which, addr[step->which], index, n, refused);
			if (!from)
				return 0;
			if (plan->fold == AGENT_FOLD_CHECKSUM)
				state->crc = crc32c(state->crc, from, n * size_of[operand->type]);
			else
				stack[at] = NAME(convert)(operand->type, from, to, n);
		} else if (step->op == AGENT_NUMBER) {
			for (size_t i = 0; i < n; i++)
				to[i] = (NUMBER)step->high + (NUMBER)step->low;
			stack[at] = to;
		} else if (step->op == AGENT_MASKED) {
			mask = stack[at + 1];
			break;
		} else {
			if (step->op < AGENT_ADD)
				NAME(one)(step->op, to, stack[at], n);
			else
				NAME(two)(step->op, to, stack[at], stack[at + 1], n);
			stack[at] = to;
		}
		free_room[DEPTH] = free_room[at];
		free_room[at] = to;
		depth = at + 1;
	}
	if (plan->fold != AGENT_FOLD_CHECKSUM)
		NAME(fold)(plan->fold, stack[0], mask, free_room[DEPTH], n, index, state);
	return n;
}
