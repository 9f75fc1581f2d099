/* Explores the schedules of interposer/space/floors.c: each process is a coroutine, and before each access to the shared
 * file, and in each wait, another one may go on.
 *
 *     floors_explored KEYS... PREEMPTIONS KILLS TIMEOUTS WALKS
 *
 * KEYS: one word for each process; each letter is a key.  All schedules are run that need at most so many switches away
 * from a process that could go on, kill at most so many processes (anywhere), and let so many waits time out although
 * others could go on; with WALKS, so many of them by chance.  Where all wait, time passes.  Prints the number of
 * schedules, or the first bad one. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static void step(void);
static long simulated(long nr, long a, long b, long c, long d);
#include "base/lower.h"

#define __atomic_load_n(p, order) (step(), *(p))
#define __atomic_store_n(p, v, order) (step(), (void)(*(p) = (v)))
#define __atomic_add_fetch(p, v, order) (step(), *(p) += (v))
#define __atomic_exchange_n(p, v, order) \
	({ \
		step(); \
		__typeof__(*(p)) was_ = *(p); \
		*(p) = (v); \
		was_; \
	})
#define __atomic_compare_exchange_n(p, e, v, weak, order, order2) \
	({ \
		step(); \
		const bool same_ = *(p) == *(e); \
		if (same_) \
			*(p) = (v); \
		else \
			*(e) = *(p); \
		same_; \
	})
#define raw_syscall(nr, a, b, c, d, e, f) simulated(nr, (long)(a), (long)(b), (long)(c), (long)(d))
#include "space/floors.c"
#undef raw_syscall

struct lower lower;

int descriptor_open(int dir, const char *path, int flags, mode_t mode)
{
	(void)dir, (void)path, (void)flags, (void)mode;
	return -1;
}

ssize_t descriptor_text(const char *path, char *text, size_t room)
{
	(void)path, (void)room;
	*text = 0;
	return -1;
}

enum { PROCESSES = 4, CHOICES = 4096, STACK = 64 << 10, KEYS = 8, STEPS = 20000 };
enum state { RUNS, WAITS, DEAD, DONE };

static struct process {
	ucontext_t context;
	char stack[STACK];
	enum state state;
	uint32_t *word; /* of a wait, */
	uint32_t value;
	bool timed, timed_out, awaits, inside;
	uint64_t until_ms; /* of a timed wait */
	const char *keys;
	/* static variables of floors.c */
	struct place *own;
	__typeof__(set) set;
} process[PROCESSES];
static unsigned nprocesses, now;
static ucontext_t scheduler;
static struct floors file;
static int inside[KEYS];
static uint64_t time_ms;
static const char *bad;

static bool alive(uint32_t pid)
{
	return pid && pid <= nprocesses && process[pid - 1].state != DEAD && process[pid - 1].state != DONE;
}

static void to_scheduler(void)
{
	swapcontext(&process[now].context, &scheduler);
}

static void step(void)
{
	to_scheduler();
}

static long simulated(long nr, long a, long b, long c, long d)
{
	struct process *p = &process[now];
	if (nr == SYS_clock_gettime) {
		*(struct timespec *)b = (struct timespec){(time_t)(time_ms / 1000), (long)(time_ms % 1000 * 1000000)};
		return 0;
	}
	if (nr == SYS_kill)
		return alive((uint32_t)a) ? 0 : -ESRCH;
	if (b == FUTEX_WAKE) {
		for (unsigned i = 0; i < nprocesses; i++)
			if (process[i].state == WAITS && process[i].word == (uint32_t *)a)
				process[i].state = RUNS;
		return 0;
	}
	step();
	if (*(uint32_t *)a != (uint32_t)c)
		return -EAGAIN;
	p->word = (uint32_t *)a;
	p->value = (uint32_t)c;
	const struct timespec *most = (const void *)d;
	p->timed = most;
	p->until_ms = most ? time_ms + (uint64_t)most->tv_sec * 1000 + (uint64_t)most->tv_nsec / 1000000 : 0;
	p->timed_out = false;
	p->state = WAITS;
	to_scheduler();
	return p->timed_out ? -ETIMEDOUT : 0;
}

static void enters(struct process *p, int by)
{
	for (const char *k = p->keys; *k; k++) {
		inside[*k - 'a'] += by;
		if (inside[*k - 'a'] > 1 && !bad)
			bad = "two processes have one floor";
	}
	p->inside = by > 0;
}

static void take_all(struct process *p)
{
	uint64_t keys[KEYS];
	unsigned n = 0;
	for (const char *k = p->keys; *k; k++)
		keys[n++] = (uint64_t)(*k - 'a');
	if (floors_take(keys, n))
		bad = "a floor was taken from a process that would have given it";
	enters(p, 1);
}

static void play(void)
{
	struct process *p = &process[now];
	if (floors_join())
		bad = "no place";
	take_all(p);
	step();
	p->awaits = now == 0;
	static const bool ends;
	if (p->awaits)
		floors_await_others(&ends);
	p->awaits = false;
	enters(p, -1);
	floors_give();
	take_all(p);
	step();
	enters(p, -1);
	floors_leave();
	p->state = DONE;
	to_scheduler();
}

/* ---- schedules ---- */

/* A choice is one of `of`; 0 costs nothing. */
static struct choice {
	uint8_t taken, of;
} choices[CHOICES];
static unsigned nchoices, at, budget[3]; /* preemptions, kills, time-outs */

static unsigned long walks;
static uint64_t chance = 1;

static unsigned by_chance(unsigned of)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	const unsigned n = (unsigned)(chance >> 33);
	return n % 4 ? 0 : n / 4 % of; /* mostly the present one goes on */
}

static unsigned choose(unsigned of)
{
	if (of < 2)
		return 0;
	if (walks)
		return by_chance(of);
	if (at == CHOICES) {
		bad = "too long a schedule";
		return 0;
	}
	if (at == nchoices)
		choices[nchoices++] = (struct choice){0, (uint8_t)of};
	return choices[at++].taken;
}

static void go_on(unsigned i)
{
	struct process *p = &process[i];
	now = i;
	lower.pid = (pid_t)i + 1;
	own = p->own;
	set = p->set;
	swapcontext(&scheduler, &p->context);
	p->own = own;
	p->set = set;
}

static void times_out(unsigned i)
{
	process[i].timed_out = true;
	time_ms = time_ms < process[i].until_ms ? process[i].until_ms : time_ms;
	process[i].state = RUNS;
}

static void kills(unsigned i)
{
	if (process[i].inside)
		enters(&process[i], -1);
	process[i].state = DEAD;
}

static void begin(void)
{
	memset(&file, 0, offsetof(struct floors, right));
	memset(file.right, 0, KEYS * sizeof(*file.right));
	memset(file.places, 0, PROCESSES * sizeof(*file.places));
	memset(inside, 0, sizeof(inside));
	floors = &file;
	time_ms = 1;
	for (unsigned i = 0; i < nprocesses; i++) {
		struct process *p = &process[i];
		p->state = RUNS;
		p->own = NULL;
		p->set.n = 0;
		p->awaits = p->inside = false;
		getcontext(&p->context);
		p->context.uc_stack = (stack_t){.ss_sp = p->stack, .ss_size = STACK};
		p->context.uc_link = &scheduler;
		makecontext(&p->context, play, 0);
	}
}

static bool run_one(const unsigned limits[3])
{
	unsigned current = 0;
	memcpy(budget, limits, sizeof(budget));
	at = 0;
	bad = NULL;
	begin();
	for (unsigned steps = 0; !bad; steps++) {
		unsigned can[3 * PROCESSES + 1], n = 0, waiting = 0;
		if (steps == STEPS)
			bad = "it does not end";
		/* first what costs nothing: the present one goes on */
		if (process[current].state == RUNS)
			can[n++] = current;
		const bool free = n == 0;
		for (unsigned i = 0; i < nprocesses; i++)
			if (i != current && process[i].state == RUNS && (free || budget[0]))
				can[n++] = i;
		if (n == 0) { /* time passes, up to the first end of a wait */
			unsigned first = nprocesses;
			for (unsigned i = 0; i < nprocesses; i++)
				if (process[i].state == WAITS && process[i].timed &&
				    (first == nprocesses || process[i].until_ms < process[first].until_ms))
					first = i;
			if (first < nprocesses)
				can[n++] = 2 * PROCESSES + first;
		} else {
			for (unsigned i = 0; i < nprocesses; i++) {
				if (budget[1] && (process[i].state == RUNS || process[i].state == WAITS))
					can[n++] = PROCESSES + i;
				if (budget[2] && process[i].state == WAITS && process[i].timed)
					can[n++] = 2 * PROCESSES + i;
			}
		}
		if (n == 0) {
			for (unsigned i = 0; i < nprocesses; i++)
				waiting += process[i].state == WAITS;
			for (unsigned i = 0; i < nprocesses; i++)
				if (process[i].state == WAITS && !(process[i].awaits && waiting == 1))
					bad = "all wait";
			return !bad;
		}
		const unsigned what = can[choose(n)], who = what % PROCESSES;
		if (what >= 2 * PROCESSES) {
			budget[2] -= budget[2] && !(free && n == 1);
			times_out(who);
		} else if (what >= PROCESSES) {
			budget[1]--;
			kills(who);
		} else {
			budget[0] -= !free && who != current;
			current = who;
			go_on(who);
		}
	}
	return false;
}

/* The next schedule in order; false: that was the last. */
static bool next(void)
{
	while (nchoices && choices[nchoices - 1].taken + 1 == choices[nchoices - 1].of)
		nchoices--;
	if (!nchoices)
		return false;
	choices[nchoices - 1].taken++;
	return true;
}

int main(int argc, char **argv)
{
	unsigned limits[3];
	unsigned long schedules = 0;
	nprocesses = (unsigned)argc - 5;
	walks = strtoul(argv[argc - 1], NULL, 10);
	for (unsigned i = 0; i < nprocesses; i++)
		process[i].keys = argv[i + 1];
	for (unsigned i = 0; i < 3; i++)
		limits[i] = (unsigned)atoi(argv[argc - 4 + (int)i]);
	do {
		schedules++;
		if (!run_one(limits)) {
			printf("schedule %lu: %s\n", schedules, bad);
			return 1;
		}
	} while (walks ? schedules < walks : next());
	printf("%lu\n", schedules);
	return 0;
}
