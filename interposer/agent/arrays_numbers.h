/* The arithmetic of arrays.c, in NUMBER: included once for each. */

static void NAME(convert)(uint32_t type, NUMBER *to, size_t n)
{
#define FROM(kind, c_type) FROM_BY(kind, c_type, from[i])
#define FROM_BY(kind, c_type, value) \
	case kind: { \
		const c_type *from = (const c_type *)(const void *)room.raw; \
		for (size_t i = 0; i < n; i++) \
			to[i] = (NUMBER)(value); \
		return; \
	}
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
}

static void NAME(one)(uint32_t op, NUMBER *a, size_t n)
{
#define EACH(value) \
	for (size_t i = 0; i < n; i++) \
		a[i] = (NUMBER)(value); \
	return
	switch (op) {
	case AGENT_ABS: EACH(a[i] < 0 ? -a[i] : a[i]);
	case AGENT_NEGATE: EACH(-a[i]);
	case AGENT_NOT: EACH(a[i] == 0);
	case AGENT_FINITE: EACH(a[i] - a[i] == 0); /* neither inf - inf nor NaN - NaN is */
	case AGENT_NAN: EACH(a[i] != a[i]);
	}
}

static void NAME(two)(uint32_t op, NUMBER *a, const NUMBER *b, size_t n)
{
	switch (op) {
	case AGENT_ADD: EACH(a[i] + b[i]);
	case AGENT_SUBTRACT: EACH(a[i] - b[i]);
	case AGENT_MULTIPLY: EACH(a[i] * b[i]);
	case AGENT_DIVIDE: EACH(a[i] / b[i]);
	case AGENT_LESS: EACH(a[i] < b[i]);
	case AGENT_LESS_EQUAL: EACH(a[i] <= b[i]);
	case AGENT_GREATER: EACH(a[i] > b[i]);
	case AGENT_GREATER_EQUAL: EACH(a[i] >= b[i]);
	case AGENT_EQUAL: EACH(a[i] == b[i]);
	case AGENT_NOT_EQUAL: EACH(a[i] != b[i]);
	case AGENT_AND: EACH((a[i] != 0) & (b[i] != 0));
	case AGENT_OR: EACH((a[i] != 0) | (b[i] != 0));
	}
#undef EACH
}

static void NAME(decides)(struct state *state, uint64_t index, NUMBER value, bool done)
{
	state->value = value;
	state->index = index;
	state->done = done;
}

static void NAME(fold)(uint32_t fold, const NUMBER *a, size_t n, uint64_t index, struct state *state)
{
	NUMBER most = (NUMBER)state->value, sum = 0;
	size_t i = 0;

	switch (fold) {
	case AGENT_FOLD_ALL:
		while (i < n && a[i] != 0)
			i++;
		if (i < n)
			NAME(decides)(state, index + i, 0, true);
		return;
	case AGENT_FOLD_ANY:
		while (i < n && a[i] == 0)
			i++;
		if (i < n)
			NAME(decides)(state, index + i, 1, true);
		return;
	case AGENT_FOLD_COUNT:
		for (i = 0; i < n; i++)
			sum += a[i] != 0;
		state->value += sum;
		return;
	case AGENT_FOLD_SUM:
		for (i = 0; i < n; i++)
			sum += a[i];
		state->value += sum;
		return;
	case AGENT_FOLD_MAX:
	case AGENT_FOLD_MIN:
		for (i = 0; i < n && !state->done; i++) {
			if (state->some && !(fold == AGENT_FOLD_MAX ? a[i] > most : a[i] < most) && a[i] == a[i])
				continue;
			state->some = true;
			most = a[i];
			NAME(decides)(state, index + i, most, a[i] != a[i]); /* what is no number is the answer */
		}
		return;
	case AGENT_FOLD_SORTED:
		for (i = 0; i < n; i++) {
			NUMBER before = i ? a[i - 1] : (NUMBER)state->last;
			if (((i || state->some) && !(before <= a[i])) || a[i] != a[i]) {
				NAME(decides)(state, index + i, 0, true);
				return;
			}
		}
		state->some = true;
		state->last = a[n - 1];
		return;
	}
}

/* N elements, or fewer, of which the first is INDEX: how many; 0: *refused cannot be read. */
static size_t NAME(piece)(const struct agent_array *plan, const uint64_t *addr, size_t n, uint64_t index,
			  struct state *state, uint64_t *refused)
{
	unsigned depth = 0;

	for (uint32_t i = 0; i < plan->operands; i++) { /* as many as there is room for of each operand */
		uint64_t far = (uint64_t)(plan->operand[i].stride[0] < 0 ? -plan->operand[i].stride[0]
									 : plan->operand[i].stride[0]);
		size_t most = far ? (RAW - 16) / far + 1 : n;
		n = most < n ? most : n;
	}
	for (uint32_t s = 0; s < plan->steps; s++) {
		const struct agent_array_step *step = &plan->step[s];
		if (step->op == AGENT_LOAD) {
			const struct agent_array_operand *operand = &plan->operand[step->which];
			*refused = addr[step->which];
			if (!gather(refused, operand->stride[0], size_of[operand->type], n))
				return 0;
			if (plan->fold == AGENT_FOLD_CHECKSUM)
				state->crc = crc32c(state->crc, room.raw, n * size_of[operand->type]);
			else
				NAME(convert)(operand->type, STACK[depth], n);
			depth++;
		} else if (step->op == AGENT_NUMBER) {
			for (size_t i = 0; i < n; i++)
				STACK[depth][i] = (NUMBER)step->high + (NUMBER)step->low;
			depth++;
		} else if (step->op < AGENT_ADD) {
			NAME(one)(step->op, STACK[depth - 1], n);
		} else {
			depth--;
			NAME(two)(step->op, STACK[depth - 1], STACK[depth], n);
		}
	}
	NAME(fold)(plan->fold, STACK[0], n, index, state);
	return n;
}
