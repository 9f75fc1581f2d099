#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "arch/gate_frame.h"
#include "arch/registers.h"
#include "space/sent.h"
#include "log/file_sum.h"
#include "space/arena.h"
#include "replay/call_names.h"
#include "replay/divergence.h"
#include "space/page_hashes.h"
#include "task/thread.h"

enum { STACK_WORDS = 4096 };

static struct {
	uint64_t pc, sp; /* of the newest question */
	bool page;
	struct page_difference difference;
} here;

void divergence_crossing(const ucontext_t *uc)
{
	const struct gate_frame *frame = thread_self()->frame;
	if (uc) {
		here.pc = UC_PC(uc);
		here.sp = UC_SP(uc);
	} else if (frame) {
		here.pc = gate_frame_returns_to(frame);
		here.sp = gate_frame_sp(frame);
	}
}

void divergence_hash(const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));)
		if (!c->addr && c->note == RDB_NOTE_PAGES)
			page_hashes_expect(c + 1, c->len);
}

void divergence_in_memory(void)
{
	here.page = page_hashes_compare(&here.difference);
}

const char *divergence_unknown(void)
{
	return here.page
		       ? "; the cause is not known: a watchpoint in that page (rdb attach) shows what the replay stores there"
		       : "; the cause is not known: record again with --hash-every 1, and a replay names event and "
			 "page";
}

/* ---- places ---- */

/* The name in a key NAME-DEVICE-INODE-MTIME-SIZE[-sSIZE.CRC]. */
static int name_length(const char *key)
{
	struct file_sum sum;
	size_t n = file_sum_of_key(key, &sum) ? (size_t)(strrchr(key, '-') - key) : strlen(key);
	for (unsigned dashes = 0; n && dashes < 4; n--)
		dashes += key[n - 1] == '-';
	return (int)n;
}

static void mapping_text(uint64_t addr, char *out, size_t size)
{
	const struct file_mapping *f = arena_file_at(addr);
	struct mapping m;
	if (f)
		snprintf(out, size, "%.*s+%#lx", name_length(f->key), f->key,
			 (unsigned long)(f->offset + (addr - f->start)));
	else if (!arena_mapping_at(addr, &m))
		snprintf(out, size, "not mapped");
	else if (addr >= RDB_BRK && addr < RDB_BRK_END)
		snprintf(out, size, "heap");
	else if (addr >= RDB_MMAP_END && addr < RDB_STACK_TOP)
		snprintf(out, size, "stack");
	else if (addr >= RDB_SCRATCH && addr < RDB_SCRATCH_END)
		snprintf(out, size, "arguments of callbacks");
	else if ((f = arena_file_at(m.start - 1)))
		snprintf(out, size, ".bss of %.*s", name_length(f->key), f->key);
	else
		snprintf(out, size, "anonymous memory at %#lx-%#lx", (unsigned long)m.start, (unsigned long)m.end);
}

/* Does a call stand before RET: call rel32, call *reg, call *disp(reg), call *disp(rip)? */
static bool after_call(const uint8_t *ret)
{
	return ret[-5] == 0xe8 || (ret[-2] == 0xff && (ret[-1] & 0xf8) == 0xd0) ||
	       (ret[-3] == 0xff && (ret[-2] & 0xf8) == 0x50) || (ret[-6] == 0xff && (ret[-5] & 0x38) == 0x10);
}

/* Address of the program's own statement that asked: the first return address into its text on the stack.  This is a
 * guess, though a good one: frames are not unwound. */
static uint64_t own_caller(void)
{
	struct mapping text, stack;
	if (!arena_mapping_at(lower.upper.entry, &text) || (here.pc >= text.start && here.pc < text.end))
		return here.pc;
	if (!arena_mapping_at(here.sp, &stack))
		return 0;
	const uint64_t *word = (const uint64_t *)(here.sp & ~7ul);
	for (unsigned i = 0; i < STACK_WORDS && (uint64_t)(word + i + 1) <= stack.end; i++)
		if (word[i] >= text.start + 8 && word[i] < text.end && after_call((const uint8_t *)word[i]))
			return word[i];
	return 0;
}

bool divergence_in_text(const struct rdb_note_sent *span)
{
	struct mapping m;
	return (arena_mapping_at(sent_address(span), &m) && m.prot & PROT_EXEC) ||
	       (arena_mapping_at(sent_end(span) + span->len - 1, &m) && m.prot & PROT_EXEC);
}

void divergence_sent(const struct event *ev, const struct rdb_note_sent *span, char *out, size_t size)
{
	char call[64], where[160], blocks[32] = "", of[32] = "reached from its arguments";
	const uint64_t at = sent_address(span);
	for (unsigned i = ev->nargs; i-- > 0;)
		if (ev->args[i] == at)
			snprintf(of, sizeof(of), "argument %u", i);
	call_name(ev->kind, ev->nr, call, sizeof(call));
	mapping_text(at, where, sizeof(where));
	if (sent_count(span) > 1)
		snprintf(blocks, sizeof(blocks), "%lu blocks of ", (unsigned long)sent_count(span));
	snprintf(out, size, "the data passed to %s differs from the recording: %s, %s%u bytes at %#lx (%s)%s", call, of,
		 blocks, span->len, (unsigned long)at, where,
		 sent_phase(span) ? ", of which a sample is compared" : "");
}

static size_t add_place(char *out, size_t size, const char *what, uint64_t addr)
{
	const struct file_mapping *f = addr ? arena_file_at(addr) : NULL;
	if (!f)
		return 0;
	int n = snprintf(out, size, ",\"%s\":{\"address\":\"%#lx\",\"key\":\"%s\",\"offset\":%lu}", what,
			 (unsigned long)addr, f->key, (unsigned long)(f->offset + (addr - f->start)));
	return (size_t)n < size ? (size_t)n : 0;
}

size_t divergence_json(uint64_t event, char *out, size_t size)
{
	char where[160];
	size_t n = (size_t)snprintf(out, size, ",\"event\":%lu", (unsigned long)event);
	if (here.page) {
		mapping_text(here.difference.addr, where, sizeof(where));
		n += (size_t)snprintf(out + n, size - n, ",\"page\":\"%#lx\",\"pages\":%lu,\"mapping\":\"%s\"",
				      (unsigned long)here.difference.addr, (unsigned long)here.difference.pages, where);
	}
	n += add_place(out + n, size - n, "pc", here.pc);
	n += add_place(out + n, size - n, "caller", own_caller());
	return n;
}
