/* base/spans.c against a plain list: random ranges of three things, added, taken out, cut and looked for; and trees of
 * many, in order and all alike, that do not become deep. */
#include <stdio.h>
#include <stdlib.h>
#include "base/spans.c"

struct item {
	struct span span;
	uint64_t value; /* start + by how much later it began */
};

static void later(struct span *s, uint64_t by)
{
	((struct item *)s)->value += by;
}

static unsigned depth(const struct span *t)
{
	if (!t)
		return 0;
	const unsigned a = depth(t->kid[0]), b = depth(t->kid[1]);
	return 1 + (a > b ? a : b);
}

static void must(int right, const char *what)
{
	if (right)
		return;
	printf("%s\n", what);
	exit(1);
}

static void overlapping(void)
{
	enum { N = 300 };
	struct spans all = {0};
	static struct span s[N];
	char in[N] = {0};
	for (int round = 0; round < 20000; round++) {
		const int i = rand() % N;
		if (in[i]) {
			spans_take(&all, &s[i]);
		} else {
			const uint64_t start = (uint64_t)rand() % 100, len = 1 + (uint64_t)rand() % 10;
			s[i] = (struct span){.start = start, .end = start + len, .of = (uint64_t)rand() % 3};
			spans_add(&all, &s[i]);
		}
		in[i] = !in[i];
		const uint64_t of = (uint64_t)rand() % 3, from = (uint64_t)rand() % 100,
			       to = from + 1 + (uint64_t)rand() % 5;
		unsigned there = 0, seen = 0;
		for (int k = 0; k < N; k++)
			there += in[k] && s[k].of == of && s[k].start < to && s[k].end > from;
		uint64_t last = 0;
		for (const struct span *t = NULL; (t = spans_next(&all, t, of, from, to)); last = t->start, seen++)
			must(t->start >= last && t->of == of && t->start < to && t->end > from, "order");
		must(there == seen, "overlapping");
	}
}

static void cut(void)
{
	enum { N = 512 };
	struct spans all = {.size = sizeof(struct item), .later = later};
	uint64_t value[N] = {0};
	for (int round = 0; round < 20000; round++) {
		const uint64_t start = (uint64_t)rand() % N, len = 1 + (uint64_t)rand() % 20;
		const uint64_t end = start + len < N ? start + len : N, base = (uint64_t)round << 16;
		must(!spans_cut(&all, start, end, NULL, NULL), "memory");
		const int adds = rand() % 3;
		if (adds)
			must(spans_new(&all, &(struct item){{.start = start, .end = end}, base}) != NULL, "memory");
		for (uint64_t at = start; at < end; at++)
			value[at] = adds ? base + (at - start) : 0;
		const uint64_t at = (uint64_t)rand() % N;
		const struct item *t = spans_at(&all, at);
		must((t ? t->value + (at - t->span.start) : 0) == value[at], "cut");
	}
}

static void many(int same)
{
	enum { N = 100000 };
	struct spans all = {.size = sizeof(struct item)};
	for (uint64_t i = 0; i < N; i++)
		spans_new(&all, &(struct item){{.start = same ? 0 : i, .end = same ? 1 : i + 1}, 0});
	must(depth(all.root) < 64, "deep");
	for (uint64_t i = 0; i < N; i++)
		spans_free(&all, spans_at(&all, same ? 0 : i));
	must(!all.root && !all.n, "left");
}

int main(void)
{
	overlapping();
	cut();
	many(0);
	many(1);
	printf("as a list\n");
	return 0;
}
