#include "seek/output.h"
#include <string.h>
#include <sys/mman.h>
#include "space/upper_memory.h"

#define PIECE 65536u
#define FIRST (1ul << 20)
#define MOST (1ul << 30)

static struct {
	bool on;
	char *buf;
	uint64_t cap, head, tail, unnumbered; /* offsets; pieces from `unnumbered` on await their event */
} out;

static bool room(uint64_t need)
{
	uint64_t cap = out.cap ? out.cap : FIRST;
	void *p;

	if (out.head == out.tail)
		out.head = out.tail = out.unnumbered = 0;
	while (out.tail + need > cap)
		cap *= 2;
	if (cap > MOST)
		return false;
	if (cap == out.cap)
		return true;
	p = out.buf ? mremap(out.buf, out.cap, cap, MREMAP_MAYMOVE)
		    : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	out.buf = p;
	out.cap = cap;
	return true;
}

static uint64_t padded(uint64_t len)
{
	return (len + 7) & ~7ull;
}

void output_keep(bool on)
{
	out.on = on;
	if (!on)
		out.head = out.tail = out.unnumbered = 0;
}

void output_written(int fd, const void *upper, uint64_t len)
{
	while (out.on && len) {
		uint32_t n = len < PIECE ? (uint32_t)len : PIECE;
		struct agent_output *piece;

		if (!room(sizeof(*piece) + padded(n)))
			return; /* a gigabyte that nobody fetched */
		piece = (struct agent_output *)(out.buf + out.tail);
		*piece = (struct agent_output){.fd = fd, .len = n};
		if (upper_read((uint64_t)upper, piece + 1, n) != n)
			return;
		out.tail += sizeof(*piece) + padded(n);
		upper = (const char *)upper + n;
		len -= n;
	}
}

void output_event(uint64_t event)
{
	while (out.unnumbered < out.tail) {
		struct agent_output *piece = (struct agent_output *)(out.buf + out.unnumbered);

		piece->event = event;
		out.unnumbered += sizeof(*piece) + padded(piece->len);
	}
}

bool output_next(struct agent_output *piece, const void **bytes)
{
	if (out.head == out.tail)
		return false;
	memcpy(piece, out.buf + out.head, sizeof(*piece));
	*bytes = out.buf + out.head + sizeof(*piece);
	out.head += sizeof(*piece) + padded(piece->len);
	return true;
}
