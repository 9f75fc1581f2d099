/* rdtsc, rdrand, rdseed (and CPUID: cpuid_events.h).
 *
 * rdtsc can be made to fault (PR_SET_TSC, prctl(2)). rdrand and rdseed cannot, unless CPUID can be made to hide them.
 * Confirmed ones are patched when code is mapped: 0F C7 /6 and /7 (register form) become 0F B9 (UD1, Intel SDM vol. 2),
 * which has the same length and operand and raises SIGILL.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <x86intrin.h>
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "crossing/hot_sites.h"
#include "crossing/source.h"
#include "answer/clock.h"
#include "arch/x86_64/answer/cpuid_events.h"
#include "arch/insn.h"
#include "answer/instructions.h"
#include "answer/made_text.h"
#include "arch/x86_64/text/escape.h"
#include "arch/x86_64/text/starts.h"
#include "text/text_sections.h"
#include "arch/x86_64/text/counter_sites.h"
#include "log/log_reader.h"
#include "task/polling.h"
#include "task/signals.h"
#include "space/arena.h"
#include "task/thread.h"
#include "base/trace.h"

static bool tsc_patches_wanted(void)
{
	const char *knob = getenv("RDB_TSC_SITES");
	return !knob || strcmp(knob, "0") != 0;
}

enum answer { RDTSC = 0, RDTSCP = 1, RDRAND = 2, RDSEED = 3 };

/* Is the carry flag read soon?  Code with a real rdrand does that. */
static bool carry_is_read(const uint8_t *p, const uint8_t *end, unsigned within)
{
	struct insn in;
	for (unsigned i = 0; i < within && decode(p, (size_t)(end - p), &in) == 0; i++, p += in.len) {
		unsigned cc = in.op & 0xf;
		bool carry = cc == 2 || cc == 3;
		if (in.map == MAP_ONE && !in.vector_prefix &&
		    ((carry && (in.op & 0xf0) == 0x70) || (in.op & 0xf8) == 0x10 || (in.op & 0xf8) == 0x18))
			return true; /* jb jae adc sbb */
		if (in.map == MAP_0F && !in.vector_prefix && carry &&
		    ((in.op & 0xf0) == 0x80 || (in.op & 0xf0) == 0x90 || (in.op & 0xf0) == 0x40))
			return true; /* jb jae setb setae cmovb cmovae */
		if (in.jumps && i > 2)
			return false;
	}
	return false;
}

void instructions_patch(uint8_t *op, uint8_t to)
{
	uint8_t *page = (uint8_t *)((uint64_t)op & ~(RDB_PAGE - 1));
	struct mapping m;
	if (!arena_mapping_at((uint64_t)op, &m) || mprotect(page, RDB_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		rdb_fatal("cannot patch an instruction at %p: %s", (void *)op, strerror(errno));
	*op = to;
	if (mprotect(page, RDB_PAGE, m.prot))
		rdb_fatal("cannot patch an instruction at %p: %s", (void *)op, strerror(errno));
}

static bool is_rex(uint8_t b)
{
	return (b & 0xf0) == 0x40;
}

/* The first rdrand or rdseed, or NULL. */
static const uint8_t *find_random(const uint8_t *begin, const uint8_t *from, const uint8_t *end, bool mixed)
{
	for (const uint8_t *p = from; (p = escape_next(p, end, 0xc7, 0xc7)) && p + 3 <= end; p++) {
		if (p[2] < 0xf0)
			continue;
		bool here = text_starts_here(begin, p, end) ||
			    (p > begin && (is_rex(p[-1]) || p[-1] == 0x66) && text_starts_here(begin, p - 1, end));
		if (here && carry_is_read(p + 3, end, mixed ? 1 : 6))
			return p;
	}
	return NULL;
}

static void look_for_random(uint8_t *begin, uint8_t *end, bool mixed)
{
	const uint8_t *p = begin;
	while ((p = find_random(begin, p, end, mixed))) {
		instructions_patch((uint8_t *)p + 1, 0xb9);
		p += 3;
	}
}

/* The results of the C library's few rdtsc are never used.  This does not hold for ld.so run as a program. */
static bool known_harmless(const char *key, uint64_t at)
{
	if (at >= RDB_PROG && at < RDB_INTERP)
		return false;
	static const char *const known[] = {"ld-linux", "libc.so",   "libc-",      "libm.so", "libm-",
					    "libgcc_s", "libstdc++", "libpthread", "libdl",   "libmpi.so"};
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(key, known[i], strlen(known[i])))
			return true;
	return false;
}

/* Are both halves joined, by the shl $32,%rdx of compilers? */
static bool halves_are_joined(const uint8_t *p, const uint8_t *end)
{
	size_t len = end - p < 48 ? (size_t)(end - p) : 48;
	return memmem(p, len, "\x48\xc1\xe2\x20", 4) != NULL;
}

/* Is each half kept for later, by mov %eax, ... and mov %edx, ...? */
static bool halves_are_kept(const uint8_t *p, const uint8_t *end)
{
	struct insn in;
	bool kept[3] = {false};
	for (unsigned i = 0; i < 6 && !decode(p, (size_t)(end - p), &in) && !in.jumps; i++, p += in.len)
		if (in.map == MAP_ONE && !in.vector_prefix && in.op == 0x89 && in.reg <= 2)
			kept[in.reg] = true;
	return kept[0] && kept[2];
}

/* Do the instructions from `at` on lead to the site? */
static bool leads_to(const uint8_t *at, const uint8_t *site)
{
	struct insn in;
	while (at < site && !decode(at, (size_t)(site - at), &in) && !in.jumps)
		at += in.len;
	return at == site;
}

/* Is it a delay loop?  A nearby jump goes back to the site, or to just before it (an unrolled loop). */
static bool turns_round(const uint8_t *begin, const uint8_t *site, const uint8_t *p, const uint8_t *end)
{
	struct insn in;
	for (unsigned i = 0; i < 24 && !decode(p, (size_t)(end - p), &in); i++, p += in.len)
		if (in.jumps) {
			const uint8_t *to = p + 2 + (int8_t)p[1];
			return in.len == 2 && (in.op & 0xf0) == 0x70 && to >= begin && to <= site && leads_to(to, site);
		}
	return false;
}

static bool is_sure(const uint8_t *begin, const uint8_t *site, const uint8_t *behind, const uint8_t *end)
{
	return halves_are_joined(behind, end) || halves_are_kept(behind, end) || turns_round(begin, site, behind, end);
}

/* Patches the rdtsc that are certain, else makes all of them trap.  A mistake costs time (rdtsc traps without need),
 * but never gives a wrong answer. */
static bool has_rdtsc(uint8_t *begin, uint8_t *end, bool stays)
{
	const bool patch = stays && recording() && !counter_must_trap && tsc_patches_wanted();
	bool found = false;
	for (uint8_t *p = begin; (p = (uint8_t *)escape_next(p, end, 0x31, 0x01)) && p + 3 <= end; p++) {
		const bool with_aux = p[1] == 0x01;
		if (with_aux && p[2] != 0xf9)
			continue;
		const bool sure = is_sure(begin, p, p + (with_aux ? 3 : 2), end),
			   starts = text_starts_here(begin, p, end);
		/* found by what follows, but not at an instruction start: not patched; it traps if it is real */
		if (!starts && !sure)
			continue;
		found = true;
		if (patch && sure && starts && counter_site_add(p, end))
			continue;
		counter_must_trap = true;
		if (trace_topics & TRACE_EVENT)
			trace_line("event: rdtsc traps everywhere: not patched at %p", (void *)p);
		break;
	}
	return found;
}

/* False: nothing else is to be answered as an event. */
static bool look_for_others(uint8_t *begin, uint8_t *end, bool mixed)
{
	cpuid_look(begin, end, mixed);
	if (passing())
		return false;
	look_for_random(begin, end, mixed);
	return true;
}

static void look(const struct text *t, uint64_t from, uint64_t to)
{
	uint8_t *begin = (uint8_t *)from, *end = (uint8_t *)to;
	if (!look_for_others(begin, end, t->mixed) || counter_traps() || known_harmless(t->name, from) ||
	    !has_rdtsc(begin, end, !t->mixed))
		return;
	lower.upper.traps |= TRAPS_COUNTER;
	if (!lower.started)
		return;
	counter_sites_put();
	if (counter_traps())
		traps_set(true);
}

static void look_at_section(uint64_t from, uint64_t to, void *arg)
{
	const struct text *t = arg;
	look(t, t->at + (from - t->offset), t->at + (to - t->offset));
}

void instructions_look(const struct text *t)
{
	text_sections(t->fd, t->offset, t->len, look_at_section, (void *)(uintptr_t)t);
}

void instructions_look_made(uint64_t start, uint64_t end)
{
	uint8_t *from = (uint8_t *)start, *to = (uint8_t *)end;
	if (!look_for_others(from, to, true))
		return;
	traps_identity();
	if (!counter_traps() && has_rdtsc(from, to, false))
		traps_counter();
}

bool instructions_left(const uint8_t *begin, const uint8_t *end)
{
	return find_random(begin, begin, end, true) ||
	       (!(lower.upper.traps & TRAPS_IDENTITY) && cpuid_find(begin, begin, end, true));
}

/* ---- answering ---- */

static uint64_t tick(unsigned *aux)
{
	if (!counter_traps())
		return __rdtscp(aux);
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	uint64_t value = __rdtscp(aux);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	return value;
}

static uint64_t live_answer(enum answer what, unsigned *aux)
{
	uint64_t value;
	if (what <= RDTSCP)
		return tick(aux);
	if (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value))
		rdb_fatal("no random number from the kernel: %s", strerror(errno));
	return value;
}

static uint64_t answer(enum answer what, unsigned *aux, ucontext_t *uc)
{
	struct event *ev = event_begin(LOG_TSC, what, NULL, 0);
	if (lower.started && replaying()) {
		size_t n;
		lower.mode->answer(ev, uc);
		const void *note = log_note(lower.mode->record(), RDB_NOTE_TEXT, &n);
		if (note)
			memcpy(aux, note, sizeof(*aux));
	} else {
		ev->result = (int64_t)live_answer(what, aux);
		if (what == RDTSC || what == RDTSCP)
			ev->result = polling_clock(1ull << 32 | what, ev->result);
		if (what == RDTSCP)
			event_note(ev, RDB_NOTE_TEXT, aux, sizeof(*aux));
	}
	uint64_t value = (uint64_t)ev->result;
	event_end(ev);
	return value;
}

static bool random_fault(ucontext_t *uc)
{
	const uint8_t *p = (const uint8_t *)UC_REG(uc, RIP);
	uint8_t rex = 0, opsize = *p == 0x66;
	unsigned aux, len = opsize;
	if (is_rex(p[len]))
		rex = p[len++];
	if (p[len] != 0x0f || p[len + 1] != 0xb9 || p[len + 2] < 0xf0)
		return false;
	uint8_t modrm = p[len + 2];
	uint64_t value = answer((modrm >> 3 & 1) ? RDSEED : RDRAND, &aux, uc);
	uint64_t *reg = uc_general(uc, (modrm & 7u) | (rex & 1u) << 3);
	if (rex & 8)
		*reg = value;
	else if (opsize)
		*reg = (*reg & ~0xfffful) | (value & 0xffff);
	else
		*reg = (uint32_t)value;
	UC_REG(uc, EFL) = (UC_REG(uc, EFL) & ~0x8d4ul) | 1; /* CF: the number is valid */
	UC_REG(uc, RIP) += len + 3;
	event_answered(uc);
	return true;
}

static bool tsc_fault(ucontext_t *uc)
{
	const uint8_t *p = (const uint8_t *)UC_REG(uc, RIP);
	bool with_aux = p[0] == 0x0f && p[1] == 0x01 && p[2] == 0xf9;
	unsigned aux = 0;
	if (!with_aux && (p[0] != 0x0f || p[1] != 0x31))
		return false;
	bool upper = RDB_IS_UPPER(p);
	uint64_t value = upper ? answer(with_aux ? RDTSCP : RDTSC, &aux, uc) : tick(&aux);
	UC_REG(uc, RAX) = (uint32_t)value;
	UC_REG(uc, RDX) = value >> 32;
	if (with_aux)
		UC_REG(uc, RCX) = aux;
	UC_REG(uc, RIP) += with_aux ? 3 : 2;
	if (upper) {
		event_answered(uc);
		signals_want_delivery(uc);
	}
	return true;
}

static void answer_patched(ucontext_t *uc, uint64_t site)
{
	const bool with_aux = counter_site_has_aux(site);
	struct thread *self = thread_self();
	unsigned aux;
	UC_REG(uc, RIP) = site;
	self->asks_at = site;
	source_polls(self->asks_at);
	clock_row_goes_on(CLOCK_ROW_COUNTER);
	uint64_t value = answer(with_aux ? RDTSCP : RDTSC, &aux, uc);
	UC_REG(uc, RAX) = (uint32_t)value;
	UC_REG(uc, RDX) = value >> 32;
	if (with_aux)
		UC_REG(uc, RCX) = aux;
	UC_REG(uc, RIP) = site + (with_aux ? 3 : 2);
	clock_fast_if_possible(); /* before it is known whether the thread polls */
	event_answered(self->hot ? NULL : uc);
}

uint64_t counter_general(ucontext_t *uc, uint64_t tls)
{
	struct thread *self = thread_self();
	const uint64_t stub = counter_stub_of(UC_REG(uc, RIP)), site = counter_site_asks(stub);
	self->upper.tls = tls;
	if (!site || !hot_context_will_do(self)) {
		UC_REG(uc, RIP) = stub;
		return tls;
	}
	struct hot_outer outer = hot_enter(self, uc);
	answer_patched(uc, site);
	tls = hot_leave(self, uc, outer);
	counter_stub_enter(uc);
	return tls;
}

/* A patched rdtsc whose stub traps because a signal is due, or a context right after such an rdtsc. */
static bool patched_fault(ucontext_t *uc)
{
	const uint64_t site = counter_site_asks(UC_REG(uc, RIP));
	if (site) {
		answer_patched(uc, site);
		signals_want_delivery(uc);
	}
	return counter_stub_enter(uc) || site;
}

bool instructions_fault(int sig, const siginfo_t *info, ucontext_t *uc)
{
	if (sig == SIGILL && counter_sites_any() && patched_fault(uc))
		return true;
	if (sig == SIGSEGV && info->si_code == SEGV_ACCERR && made_text_fault(uc))
		return true;
	if (sig == SIGSEGV)
		return info->si_code == SI_KERNEL &&
		       ((lower.upper.traps & TRAPS_COUNTER && tsc_fault(uc)) || cpuid_fault(uc));
	return sig == SIGILL && RDB_RUNS_UPPER(UC_REG(uc, RIP)) && (random_fault(uc) || cpuid_fault(uc));
}
