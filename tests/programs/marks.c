/* Marks and trampolines on real loops, in this process: interrupts a loop by a signal at a random moment,
 * takes a mark, runs the loop again with a trampoline at the mark, and compares everything when it stops.
 * Built by tests/seek/test_marks.py together with the lower half's files; not relocatable, so that its
 * code and data lie where the lower half expects a program.
 *
 *   marks SEED POINTS [LOOP|all [ADDRESS]]   (ADDRESS: run a copy of the loops there) prints one line per loop; exit status 1: a mismatch (said on stderr)
 *   marks cost                  prints nanoseconds: per arrival (bare: of the loop alone), per call
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include "../../interposer/marks/mark.c" /* fill() too: marks at any pc */
#include "space/arena.h"
#include "seek/breakpoints.h"
#include "base/descriptors.h"
#include "text/emulate.h"
#include "seek/mark_learn.h"
#include "text/registers.h"
#include "seek/trampoline.h"
#include "space/patches.h"

#define UPPER __attribute__((noinline, noclone, section("upper_text")))
enum { STACK = 65536, CELLS = 4096, NODES = 3000, LASTS_US = 600, MANY = 20000, MANY_POINTS = 50 };

/* ---- what the lower half's files need ---- */

struct lower lower;
static uint64_t none(void)
{
	return 0;
}
static void set_tls(uint64_t v) {}
static bool in_gate(uint64_t pc)
{
	return false;
}
struct place *breakpoints_at(uint64_t addr)
{
	return NULL;
}
void breakpoint_insert(struct place *p) {}
unsigned spin_sites_count;
void spin_sites_passed(uint64_t pc) {}
bool spin_site_at(uint64_t pc)
{
	return false;
}
void breakpoint_remove(struct place *p) {}
void rdb_warn(const char *fmt, ...) {}
void rdb_fatal(const char *fmt, ...)
{
	abort();
}

/* ---- loops ---- */

struct node {
	struct node *next;
	uint64_t visits;
};

/* On pages of its own: a mark compares whole pages. */
static struct world {
	_Alignas(RDB_PAGE) uint64_t n;
	volatile uint64_t counter, other;
	uint64_t cells[CELLS];
	double a[CELLS], b[CELLS];
	long double sum;
	uint64_t (*call)(uint64_t);
	struct node nodes[NODES];
	char from[512], to[512];
} world;

#define O0 __attribute__((optimize("O0"))) UPPER
#define O2 __attribute__((optimize("O2"))) UPPER

#define ASM_LOOP(name, body) \
	uint64_t name(struct world *w); \
	__asm__(".pushsection upper_text,\"ax\",@progbits\n.globl " #name "\n" #name ":\n\tmov (%rdi), %rcx\n" body \
		"\n\tret\n.p2align 4\n.popsection\n")

ASM_LOOP(tight, "1: dec %rcx; jnz 1b; mov %rcx, %rax");
/* three-byte instructions with jumps to each of them */
ASM_LOOP(into_patch, "xor %eax, %eax; xor %edx, %edx; xor %esi, %esi; shr $2, %rcx\n"
		     "1: add %rcx, %rdx\n2: xor %rdx, %rsi\n3: add $1, %rax\n"
		     "dec %rcx; jz 9f; test $15, %cl; jz 2b; test $240, %cl; jz 3b; jmp 1b\n9: add %rsi, %rax");
ASM_LOOP(one_byte, "shr $2, %rcx\n1: push %rcx; pop %rdx; cmc; cld; push %rdx; pop %rax; nop\n"
		   "dec %ecx; jnz 1b; mov %rdx, %rax");
ASM_LOOP(rip_relative, "1: incq world+8(%rip); decq world(%rip); jnz 1b; mov world+8(%rip), %rax");
ASM_LOOP(loop_insn, "shr $1, %rcx; xor %eax, %eax\n1: inc %eax; loop 1b");
ASM_LOOP(jrcxz_insn, "shr $2, %rcx; xor %eax, %eax\n1: jrcxz 2f; inc %eax; dec %rcx; jmp 1b\n2:");
ASM_LOOP(strings, "shr $8, %rcx; mov %rcx, %r8; mov %rdi, %r9\n1: lea world_from(%rip), %rsi\n"
		  "lea world_to(%rip), %rdi; mov $500, %ecx; rep movsb; lea world_from(%rip), %rdi; mov $300, %ecx\n"
		  "mov %r8, %rax; rep stosb; dec %r8; jnz 1b; mov %rcx, %rax");
ASM_LOOP(calls, "shr $3, %rcx; mov %rcx, %r8; xor %eax, %eax; lea 8f(%rip), %r9; mov %r9, 16(%rdi)\n"
		"1: call 7f; call *%r9; call *16(%rdi); call *world+16(%rip); dec %r8; jnz 1b; ret\n"
		"7: inc %eax; ret\n8: add $3, %eax");
ASM_LOOP(large_values, "mov $0x123456789abcdef, %rcx; mov (%rdi), %rdx\n"
		       "1: add %rcx, 8(%rdi); add %rdx, %rcx; dec %rdx; jnz 1b");
ASM_LOOP(atomics,
	 "shr $3, %rcx\n1: lock incq 8(%rdi); mov $1, %eax; lock xaddq %rax, 16(%rdi); lock addl $3, 24(%rdi)\n"
	 "xchg %rax, 32(%rdi); lock btsq $5, 40(%rdi); lock cmpxchgq %rcx, 48(%rdi); dec %rcx; jnz 1b");
/* nothing but memory changes, by an instruction that is not carried out here */
ASM_LOOP(atomic_only, "shr $3, %rcx; mov %rcx, 16(%rdi); xor %ecx, %ecx\n1: lock decq 16(%rdi); jnz 1b");
__asm__(".globl world_from, world_to\n.set world_from, world\n.set world_to, world+1024\n");

static O0 uint64_t counter_in_memory(struct world *w)
{
	for (w->counter = 0; w->counter < w->n / 8; w->counter++)
		w->other = w->other + w->counter;
	return w->other;
}

static O0 uint64_t locals(struct world *w)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < w->n / 8; i++)
		sum += i ^ sum >> 3;
	return sum;
}

#define STENCIL(name, attributes) \
	static attributes UPPER uint64_t name(struct world *w) \
	{ \
		for (uint64_t t = 0; t < w->n / CELLS / 2; t++) { \
			for (unsigned i = 1; i < CELLS - 1; i++) \
				w->b[i] = (w->a[i - 1] + w->a[i] + w->a[i + 1]) * 0.3333; \
			for (unsigned i = 1; i < CELLS - 1; i++) \
				w->a[i] = w->b[i]; \
			w->a[0] += 1; \
		} \
		return (uint64_t)w->a[7]; \
	}
STENCIL(sse, __attribute__((optimize("O3"), target("no-avx"))))
STENCIL(avx, __attribute__((optimize("O3"), target("avx2,fma"))))

static O2 uint64_t add_three(uint64_t x)
{
	return x * 3 + 1;
}

static O2 uint64_t through_pointer(struct world *w)
{
	uint64_t v = 1;

	for (uint64_t i = 0; i < w->n / 8; i++)
		v = w->call(v) ^ i;
	return v;
}

static O2 uint64_t list(struct world *w)
{
	struct node *p = w->nodes;

	for (uint64_t left = w->n / 8; left; left--, p = p->next)
		p->visits++;
	return p->visits;
}

/* registers come back to the same values in every round */
static O2 uint64_t rounds(struct world *w)
{
	struct node *p = w->nodes;

	while (p->visits < w->n / 4 / NODES) {
		p->visits++;
		p = p->next;
	}
	return p->visits;
}

static O2 uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static O2 uint64_t recursion(struct world *w)
{
	for (unsigned i = 0; i < w->n / 1000000; i++)
		w->counter += fib(19 + (i & 1));
	return w->counter;
}

static O2 uint64_t hashing(struct world *w)
{
	uint64_t h = 14695981039346656037ull;

	for (uint64_t i = 0; i < w->n / 16; i++) {
		h = (h ^ (i & 0xff)) * 1099511628211ull;
		w->cells[h >> 52] += h % 1000003 + (h >> (i & 63));
	}
	return h;
}

static O2 uint64_t dispatch(struct world *w)
{
	uint64_t x = 1;

	for (uint64_t i = 0; i < w->n / 8; i++)
		switch ((x >> 7 ^ i) % 7) {
		case 0: x = x * 5 + 1; break;
		case 1: x ^= x << 13; break;
		case 2: x ^= x >> 7; break;
		case 3: w->other += x; break;
		case 4: x += w->other; break;
		case 5: x = ~x; break;
		case 6: x = (x << 5 | x >> 59) + 3; break;
		}
	return x;
}

static O2 uint64_t x87(struct world *w)
{
	for (uint64_t i = 1; i < w->n / 16; i++)
		w->sum += 1.0L / (long double)i;
	return (uint64_t)w->sum;
}

/* only a vector register changes */
static O2 uint64_t growth(struct world *w)
{
	double x = 1, limit = (double)w->n;

	while (x < limit)
		x = x + 3.25;
	return (uint64_t)x;
}

static O0 uint64_t x87_locals(struct world *w)
{
	long double sum = 0;

	for (unsigned i = 1; i < w->n / 64; i++)
		sum += 1.0L / i;
	w->sum = sum;
	return (uint64_t)sum;
}

/* Each round is like the others, and longer than what a mark is told by; who counts them is up the stack. */
static O2 uint64_t round_of_many(const struct world *w)
{
	uint64_t x = 1;

	for (unsigned i = 0; i < CELLS; i++)
		x = (x ^ i) * 31 + w->cells[i];
	return x;
}

static O2 uint64_t counted_far_off(struct world *w)
{
	volatile uint64_t left = w->n / CELLS / 4;
	uint64_t x = 0;

	for (; left; left--)
		x = round_of_many(w);
	return x;
}

static O2 uint64_t nested(struct world *w)
{
	uint64_t x = 0;

	for (unsigned k = 0; k < w->n / 3000; k++)
		for (unsigned i = 0; i < 1000; i++)
			x = (x ^ i) * 31 + w->cells[i];
	return x;
}

static const struct {
	const char *name;
	uint64_t (*fn)(struct world *);
	bool movable; /* can be copied to another address */
} loops[] = {
	{"tight", tight, true},
	{"into_patch", into_patch, true},
	{"one_byte", one_byte, true},
	{"rip_relative", rip_relative, false},
	{"loop_insn", loop_insn, true},
	{"jrcxz", jrcxz_insn, true},
	{"strings", strings, false},
	{"calls", calls, false},
	{"large_values", large_values, true},
	{"atomics", atomics, true},
	{"atomic_only", atomic_only, true},
	{"counter", counter_in_memory, true},
	{"locals", locals, true},
	{"sse", sse, false},
	{"avx", avx, false},
	{"pointer", through_pointer, true},
	{"list", list, true},
	{"rounds", rounds, true},
	{"recursion", recursion, true},
	{"hashing", hashing, true},
	{"dispatch", dispatch, false},
	{"x87", x87, false},
	{"x87_locals", x87_locals, false},
	{"nested", nested, true},
	{"counted_far_off", counted_far_off, false},
	{"growth", growth, false},
};

/* ---- running one ---- */

extern char __start_upper_text[], __stop_upper_text[];
extern uint64_t enter(uint64_t (*fn)(struct world *), struct world *w, void *stack);
__asm__(".pushsection .text\n.globl enter\nenter:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, saved_sp(%rip); mov %rdx, %rsp; mov %rdi, %rax; mov %rsi, %rdi\n"
	"	xor %ebx, %ebx; xor %ecx, %ecx; xor %edx, %edx; xor %esi, %esi; xor %ebp, %ebp\n"
	"	xor %r8d, %r8d; xor %r9d, %r9d; xor %r10d, %r10d; xor %r11d, %r11d\n"
	"	xor %r12d, %r12d; xor %r13d, %r13d; xor %r14d, %r14d; xor %r15d, %r15d\n"
	"	vzeroall; call *%rax; vzeroupper\n"
	"	mov saved_sp(%rip), %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
	".local saved_sp\n.comm saved_sp,8,8\n.popsection\n");

static char *stack;
static struct world recorded;
static char recorded_stack[STACK];
static struct mark mark;
static enum { IDLE, RECORD, RECORDED, REPLAY, STOPPED } phase;
static unsigned extra_steps;
static struct {
	uint64_t traps, inside, faults, took_ns;
	unsigned learned, int3, trampolines, unsupported, gave_up, mismatches, heat;
} stats;
static volatile sig_atomic_t failed;
static uint8_t under_int3;
static bool has_int3, single;

static void fail(const char *what)
{
	fprintf(stderr, "marks: %s\n", what);
	failed = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t moved_by; /* the loops' text is run from a copy so much higher */

static bool in_loop(uint64_t pc)
{
	uint64_t size = (uint64_t)(__stop_upper_text - __start_upper_text);

	return pc - (uint64_t)__start_upper_text < size || pc - moved_by - (uint64_t)__start_upper_text < size;
}

/* A count may look like an address, and what is there may be this program's own: other memory in the second run. */
static bool is_ours(uint64_t start, uint64_t end)
{
	const uint64_t at = (uint64_t)&world, top = (uint64_t)stack;
	return !(start >= at && end <= at + sizeof(world)) && !(start >= top && end <= top + STACK);
}

/* A copy in the arena, and memory in use for 4 GB above it, as of a large program. */
static bool move_loops(uint64_t to)
{
	uint64_t from = (uint64_t)__start_upper_text & ~(RDB_PAGE - 1);
	size_t len = (uint64_t)__stop_upper_text - from;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	char *at = mmap((void *)to, len, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);

	if (at == MAP_FAILED || mmap(at + (1 << 20), 4ul << 30, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		return false;
	memcpy(at, (void *)from, len);
	moved_by = to - from;
	return mprotect(at, len, PROT_READ | PROT_EXEC) == 0;
}

static void again_in(unsigned us, unsigned every)
{
	struct itimerval t = {.it_value.tv_usec = us, .it_interval.tv_usec = every};

	setitimer(ITIMER_REAL, &t, NULL);
}

static void take(ucontext_t *uc)
{
	struct emulated did;
	uint64_t begin = now_ns();
	int rc = mark_take(uc, &mark, MARK_INSTRUCTIONS);

	stats.took_ns = now_ns() - begin;
	if (rc == -EAGAIN) {
		again_in(20, 0);
		return;
	}
	if (rc < 0)
		fail("mark_take");
	/* any instruction, not only a good one */
	for (unsigned i = 0; i < extra_steps && in_loop(uc_pc(uc)); i++)
		if (emulate(uc, false, &did) != EMU_DONE)
			break;
	if (!in_loop(uc_pc(uc))) { /* it has returned */
		phase = IDLE;
		return;
	}
	fill(uc, &mark);
	stats.heat = mark.heat;
	recorded = world;
	memcpy(recorded_stack, stack, STACK);
	phase = RECORDED;
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (phase == RECORD && in_loop(uc_pc(uc)))
		take(uc);
	else if (phase == RECORD)
		again_in(20, 0);
	else if (phase == REPLAY && trampoline_inside(uc)) {
		trampoline_leave(uc);
		stats.inside++;
		if (!in_loop(uc_pc(uc)))
			fail("left the trampoline for nowhere");
	}
}

static void poke(uint64_t addr, uint8_t byte)
{
	if (upper_ready() || upper_write(addr, &byte, 1) != 1)
		fail("text cannot be written");
}

static void disarm(void)
{
	trampoline_disarm();
	if (has_int3)
		poke(mark.pc, under_int3);
	has_int3 = false;
}

static void arrived(ucontext_t *uc)
{
	uint64_t sp = mark.gpr[4] - 128;

	phase = STOPPED;
	again_in(0, 0);
	disarm();
	if (memcmp(&world, &recorded, sizeof(world)))
		stats.mismatches++, fail("stopped at another arrival: data differ");
	else if (memcmp((void *)sp, recorded_stack + (sp - (uint64_t)stack), (uint64_t)stack + STACK - sp))
		stats.mismatches++, fail("stopped at another arrival: stacks differ");
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	stats.traps++;
	if (single) {
		single = false;
		uc->uc_mcontext.gregs[REG_EFL] &= ~0x100;
		poke(mark.pc, 0xcc);
	} else if (trampoline_trap(uc)) {
		if (mark_here(&mark, uc)) {
			arrived(uc);
			return;
		}
		if (mark_learn(&mark)) {
			stats.learned++;
			trampoline_disarm();
			if (trampoline_arm(mark_learned()))
				fail("cannot be armed again");
		}
		trampoline_resume(uc);
	} else if (has_int3 && uc_pc(uc) == mark.pc + 1) {
		uc->uc_mcontext.gregs[REG_RIP]--;
		if (mark_here(&mark, uc)) {
			arrived(uc);
			return;
		}
		poke(mark.pc, under_int3);
		uc->uc_mcontext.gregs[REG_EFL] |= 0x100;
		single = true;
	} else {
		fail("a trap of nobody's");
		abort();
	}
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (phase == REPLAY && trampoline_fault(context)) {
		stats.faults++;
		if (trampoline_faults() == MANY) { /* then an int3 is better */
			trampoline_leave(context);
			trampoline_disarm();
			stats.gave_up++;
			phase = STOPPED;
		}
		return;
	}
	fprintf(stderr, "marks: signal %d at %#lx (%#lx), phase %d, mark at %#lx\n", sig, uc_pc(context),
		(uint64_t)info->si_addr, phase, mark.pc);
	if (trampoline_inside(context)) {
		trampoline_leave(context);
		fprintf(stderr, "marks: that is %#lx\n", uc_pc(context));
	}
	signal(sig, SIG_DFL);
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigfillset(&sa.sa_mask);
	sigdelset(&sa.sa_mask, SIGSEGV);
	sigdelset(&sa.sa_mask, SIGABRT);
	sigaction(sig, &sa, NULL);
}

static void reset(uint64_t n)
{
	memset(&world, 0, sizeof(world));
	memset(stack, 0, STACK);
	world.n = n;
	world.call = add_three;
	for (unsigned i = 0; i < CELLS; i++) {
		world.a[i] = i * 0.5;
		world.cells[i] = i * 77;
	}
	for (unsigned i = 0; i < NODES; i++)
		world.nodes[i].next = &world.nodes[(i + 1) % NODES];
}

static uint64_t run(unsigned k)
{
	return enter((uint64_t(*)(struct world *))((uint64_t)loops[k].fn + moved_by), &world, stack + STACK - 64);
}

/* False: it had ended before the signal. */
static bool point(unsigned k, uint64_t n, uint64_t lasts_us)
{
	static struct world end;
	uint64_t result;
	int rc;

	reset(n);
	phase = RECORD;
	extra_steps = rand() % 3 ? (unsigned)(rand() % 40) : 0;
	again_in(20 + (unsigned)rand() % (unsigned)lasts_us, 0);
	result = run(k);
	again_in(0, 0);
	if (phase != RECORDED) {
		phase = IDLE;
		return false;
	}
	end = world;
	reset(n);
	mark_learn_begin(&mark);
	rc = trampoline_arm(&mark);
	if (rc == -ENOTSUP && extra_steps) {
		stats.unsupported++;
		phase = IDLE;
		return true;
	}
	if (rc == -ENOTSUP) {
		memcpy(&under_int3, (void *)mark.pc, 1);
		has_int3 = true;
		poke(mark.pc, 0xcc);
		stats.int3++;
	} else if (rc) {
		fail(strerror(-rc));
		return true;
	} else {
		uint8_t bytes[8], shown[8];

		stats.trampolines++;
		memcpy(bytes, (void *)mark.pc, 8);
		memcpy(shown, bytes, 8);
		patches_hide(PATCH_TRAMPOLINE, mark.pc, shown, 8);
		if (bytes[0] != 0xe9 || (shown[0] == 0xe9 && !memcmp(bytes, shown, 8)))
			fail("the patch is not hidden");
	}
	phase = REPLAY;
	again_in(50, 50 + (unsigned)rand() % 500);
	if (run(k) != result)
		fail("another result");
	again_in(0, 0);
	if (phase != STOPPED) {
		stats.mismatches++;
		fail("never stopped");
		disarm();
	}
	phase = IDLE;
	if (memcmp(&world, &end, sizeof(world)))
		fail("another end");
	return true;
}

static void try_loop(unsigned k, unsigned points)
{
	uint64_t n = 20000, us;

	for (;;) {
		uint64_t begin;

		reset(n);
		begin = now_ns();
		run(k);
		us = (now_ns() - begin) / 1000;
		if (us > LASTS_US || n > 1ull << 40)
			break;
		n *= 2;
	}
	memset(&stats, 0, sizeof(stats));
	/* where signals fall in a loop depends on the processor: not each place has room for a trampoline */
	for (unsigned i = 0, late = 0;
	     (i < points || (stats.trampolines < points / 4 && i < MANY_POINTS * points)) && !failed;)
		if (point(k, n, us))
			i++;
		else if (++late % 20 == 0) /* measured while the machine was busy */
			n += n / 2;
	printf("%s learned=%u trampolines=%u int3=%u unsupported=%u gave_up=%u traps=%lu inside=%lu faults=%lu mismatches=%u "
	       "heat=%u words=%u varies=%#x took_us=%lu\n",
	       loops[k].name, stats.learned, stats.trampolines, stats.int3, stats.unsupported, stats.gave_up,
	       stats.traps, stats.inside, stats.faults, stats.mismatches, stats.heat, mark.nwords, mark.varies,
	       stats.took_ns / 1000);
	if (failed)
		fprintf(stderr, "marks: in loop %s at %#lx\n", loops[k].name, mark.pc);
}

/* ---- cost ---- */

enum { ARRIVALS = 50000000, CALLS = 100000, ARMS = 200 };

static double timed(uint64_t n)
{
	double best = 1e18;

	for (unsigned i = 0; i < 5; i++) {
		uint64_t begin;

		reset(n);
		begin = now_ns();
		run(0);
		if ((double)(now_ns() - begin) < best)
			best = (double)(now_ns() - begin);
	}
	return best / (double)n;
}

static double armed(const struct mark *m)
{
	double ns;

	if (m ? trampoline_arm(m) : trampoline_arm_count((uint64_t)tight + 3, 1ull << 40))
		fail("cannot be armed");
	ns = timed(ARRIVALS);
	if (!m && trampoline_count() != 5ull * ARRIVALS)
		fail("counted wrong");
	trampoline_disarm();
	return ns;
}

static void cost(void)
{
	struct mark far = {.pc = (uint64_t)tight + 3, .varies = 2, .gpr[1] = 0x7000000000000000};
	struct mark word = {.pc = far.pc, .nwords = 1, .words[0] = {(uint64_t)&world.other & ~7ull, 77}};
	ucontext_t uc;
	uint64_t begin;

	printf("bare=%.2f ", timed(ARRIVALS));
	printf("register=%.2f ", armed(&far));
	printf("word=%.2f ", armed(&word));
	printf("counter=%.2f ", armed(NULL));
	begin = now_ns();
	for (unsigned i = 0; i < ARMS; i++) {
		failed |= trampoline_arm(&far) != 0;
		trampoline_disarm();
	}
	printf("arm=%.0f ", (double)(now_ns() - begin) / ARMS);
	getcontext(&uc);
	memset(&far, 0, sizeof(far));
	upper_here();
	fill(&uc, &far);
	begin = now_ns();
	for (unsigned i = 0; i < CALLS; i++)
		failed |= !mark_here(&far, &uc);
	printf("mark_here_equal=%.1f ", (double)(now_ns() - begin) / CALLS);
	far.gpr[1]++;
	begin = now_ns();
	for (unsigned i = 0; i < CALLS; i++)
		failed |= mark_here(&far, &uc);
	printf("mark_here_other=%.1f\n", (double)(now_ns() - begin) / CALLS);
}

int main(int argc, char **argv)
{
	static const struct text_thread running = {none, set_tls, none, in_gate};
	stack_t alt = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};

	stack = mmap((void *)(RDB_STACK_TOP - STACK), STACK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (stack == MAP_FAILED || argc < 2)
		return 2;
	text_thread = &running;
	sigaltstack(&alt, NULL);
	mark_contested = is_ours;
	handle(SIGALRM, on_alarm);
	handle(SIGTRAP, on_trap);
	handle(SIGILL, on_fault);
	handle(SIGSEGV, on_fault);
	if (!strcmp(argv[1], "cost")) {
		cost();
		return failed;
	}
	if (argc > 4 && !move_loops(strtoul(argv[4], NULL, 0)))
		return 2;
	srand((unsigned)atoi(argv[1]));
	for (unsigned k = 0; k < sizeof(loops) / sizeof(*loops); k++)
		if ((argc < 4 || !strcmp(argv[3], "all") || !strcmp(argv[3], loops[k].name)) &&
		    (!moved_by || loops[k].movable)) {
			try_loop(k, argc > 2 ? (unsigned)atoi(argv[2]) : 5);
			fflush(stdout);
			if (failed)
				return 1;
		}
	return 0;
}
