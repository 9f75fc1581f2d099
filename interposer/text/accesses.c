#include "text/accesses.h"
#include <elf.h>
#include <stddef.h>
#include "arch/insn.h"
#include "base/user.h"
#include "text/fetch.h"

enum {
	WIDE = 64 << 10, /* a function is read from its beginning, but not for longer, */
	FAR = 512        /* and then searched for no longer than this */
};

/* The header in the form that linkers give it: DWARF's encodings sdata4 relative to it, udata4, sdata4 relative to the
 * section. */
struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};
/* Of one function, likewise with PCREL_SDATA4. */
struct description {
	uint32_t length, common;
	int32_t begin;
	uint32_t size;
};
enum { VERSION = 1, ENTRY = 8, PCREL_SDATA4 = 0x1b, UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };

struct functions functions_of(uint64_t auxv)
{
	struct functions f = {0};
	uint64_t word[2] = {AT_IGNORE}, phdr = 0, n = 0, bias = 0;
	for (; !user_read(word, auxv, sizeof(word)) && word[0] != AT_NULL; auxv += sizeof(word)) {
		phdr = word[0] == AT_PHDR ? word[1] : phdr;
		n = word[0] == AT_PHNUM ? word[1] : n;
	}
	for (uint64_t i = 0; i < n; i++) {
		Elf64_Phdr p;
		struct header h;
		if (user_read(&p, phdr + i * sizeof(p), sizeof(p)))
			break;
		if (p.p_type == PT_PHDR)
			bias = phdr - p.p_vaddr;
		if (p.p_type != PT_GNU_EH_FRAME || user_read(&h, bias + p.p_vaddr, sizeof(h)))
			continue;
		if (h.version == VERSION && h.frame_encoding == PCREL_SDATA4 && h.count_encoding == UDATA4 &&
		    h.table_encoding == DATAREL_SDATA4)
			f = (struct functions){bias + p.p_vaddr + sizeof(h), bias + p.p_vaddr, h.count};
	}
	return f;
}

/* A word of entry i: 0, the function; 1, what describes it. */
static uint64_t entry(const struct functions *f, uint32_t i, unsigned word)
{
	int32_t to;
	if (user_read(&to, f->table + i * ENTRY + word * sizeof(to), sizeof(to)))
		return 0;
	return f->header + (uint64_t)(int64_t)to;
}

static uint64_t function(const struct functions *f, uint32_t i)
{
	return entry(f, i, 0);
}

/* Between two functions there may be others that the table does not know. */
static uint64_t function_end(const struct functions *f, uint32_t i)
{
	const uint64_t begin = function(f, i), at = entry(f, i, 1);
	struct description d;
	if (user_read(&d, at, sizeof(d)) ||
	    at + offsetof(struct description, begin) + (uint64_t)(int64_t)d.begin != begin)
		return 0;
	return begin + d.size;
}

uint64_t functions_begin(const struct functions *f)
{
	return f->n ? function(f, 0) : 0;
}

uint64_t functions_end(const struct functions *f)
{
	return f->n ? function(f, f->n - 1) : 0;
}

/* The last function that begins at or before `at`. */
static uint32_t function_at(const struct functions *f, uint64_t at)
{
	uint32_t low = 0, high = f->n;
	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;
		if (function(f, middle) <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t access_from(const struct functions *f, uint64_t at)
{
	const uint32_t i = function_at(f, at);
	const uint64_t begin = function(f, i);
	const uint64_t end = function_end(f, i);
	const struct insn *in = NULL;
	for (uint64_t pc = begin; pc < end && pc < at + FAR && at < begin + WIDE && (in = fetch(pc)); pc += in->len)
		if (pc >= at && insn_touches_shared(in))
			return pc;
	return 0;
}
