#include "space/floors.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/private_file.h"
#include "base/proc_stat.h"
#include "space/rank_dir.h"

/* In a right: it was handed to a process, which has not seen that yet.  Only seeing it lets the process in. */
static const uint32_t GIVEN = 1u << 31;

enum { PLACES = 2047, PLACE_BITS = 11, FLOORS = 1 << 16, LOOK_MS = 20, LONGEST_MS = 10000 };
enum { TICK_MS = 10 }; /* USER_HZ, time(7) */

struct place {
	uint32_t pid;    /* 0: free */
	uint32_t wanted; /* futex: how often others have begun to wait for what the process has */
	uint32_t waits;  /* for this floor, plus 1; 0: it does not wait */
	uint64_t asked;  /* the number of its request, while it waits for floors or has them; else 0 */
};

/* The file's contents.  A right to a floor is a request and its place: one that a dead process has left is never that
 * of a process which takes its place. */
struct floors {
	uint64_t requests;      /* number of the last request */
	uint32_t used;          /* places from here on have never been taken */
	uint32_t right[FLOORS]; /* futexes: of the process that has the floor; 0: nobody */
	struct place places[PLACES];
};

static struct floors *floors;
static struct place *own; /* NULL: we do not take part */
static struct {
	uint32_t floor[FLOORS_MOST]; /* ascending, so that processes which wait for each other are impossible */
	unsigned n;
} set;

static uint32_t right_of(const struct place *p)
{
	const uint64_t asked = __atomic_load_n(&p->asked, __ATOMIC_SEQ_CST);
	return asked ? (uint32_t)(asked << PLACE_BITS | ((uint64_t)(p - floors->places) + 1)) & ~GIVEN : 0;
}

static struct place *place_of(uint32_t right)
{
	return &floors->places[(right & ((1u << PLACE_BITS) - 1)) - 1];
}

static long wait_while(uint32_t *word, uint32_t value, long ms)
{
	const struct timespec at_most = {ms / 1000, ms % 1000 * 1000000};
	return raw_syscall(SYS_futex, (long)word, FUTEX_WAIT, value, ms ? (long)&at_most : 0, 0, 0);
}

static void wake_all(uint32_t *word)
{
	raw_syscall(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

static uint32_t right(uint32_t floor)
{
	return __atomic_load_n(&floors->right[floor], __ATOMIC_SEQ_CST);
}

static bool becomes(uint32_t floor, uint32_t before, uint32_t after)
{
	return __atomic_compare_exchange_n(&floors->right[floor], &before, after, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static bool passes(uint32_t floor, uint32_t before, uint32_t after)
{
	if (!becomes(floor, before, after))
		return false;
	wake_all(&floors->right[floor]);
	return true;
}

static struct floors *map_file(void)
{
	char path[4096 + 16];
	rank_dir(path, sizeof(path));
	strcat(path, "/floors");
	const int fd = private_create(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *p = MAP_FAILED;
	if (!posix_fallocate(fd, 0, sizeof(struct floors)))
		p = mmap(NULL, sizeof(struct floors), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static bool take_place(struct place *p, uint32_t pid)
{
	uint32_t was = __atomic_load_n(&p->pid, __ATOMIC_SEQ_CST);
	if (was && was != pid && !process_ended(was))
		return false;
	return __atomic_compare_exchange_n(&p->pid, &was, pid, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void now_used(uint32_t n)
{
	uint32_t was = __atomic_load_n(&floors->used, __ATOMIC_SEQ_CST);
	while (was < n &&
	       !__atomic_compare_exchange_n(&floors->used, &was, n, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

int floors_join(void)
{
	if (!floors && !(floors = map_file()))
		return -EIO;
	set.n = 0;
	for (uint32_t i = 0; i < PLACES; i++) {
		struct place *p = &floors->places[i];
		if (!take_place(p, (uint32_t)lower.pid))
			continue;
		__atomic_store_n(&p->waits, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&p->asked, 0, __ATOMIC_SEQ_CST);
		now_used(i + 1);
		own = p;
		return 0;
	}
	return -EAGAIN;
}

void floors_forked(void)
{
	own = NULL;
}

static void notify(struct place *p)
{
	__atomic_add_fetch(&p->wanted, 1, __ATOMIC_SEQ_CST);
	wake_all(&p->wanted);
}

/* The right of the process that waits longest for the floor; 0: none waits. */
static uint32_t longest(uint32_t floor)
{
	const struct place *found = NULL;
	uint64_t first = UINT64_MAX;
	const uint32_t used = __atomic_load_n(&floors->used, __ATOMIC_SEQ_CST);
	for (const struct place *p = floors->places; p < floors->places + used; p++) {
		const uint64_t asked = __atomic_load_n(&p->asked, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&p->waits, __ATOMIC_SEQ_CST) == floor + 1 && asked && asked < first) {
			first = asked;
			found = p;
		}
	}
	const uint32_t next = found ? right_of(found) : 0; /* 0: it has ended meanwhile */
	return next ? next | GIVEN : 0;
}

static void give(struct place *p)
{
	const uint32_t ours = right_of(p);
	for (unsigned i = 0; ours && i < set.n; i++) {
		const uint32_t now = right(set.floor[i]);
		if ((now & ~GIVEN) == ours)
			passes(set.floor[i], now, longest(set.floor[i]));
	}
	__atomic_store_n(&p->asked, 0, __ATOMIC_SEQ_CST);
}

void floors_give(void)
{
	if (own)
		give(own);
}

void floors_leave(void)
{
	struct place *p = __atomic_exchange_n(&own, NULL, __ATOMIC_SEQ_CST);
	if (!p)
		return;
	__atomic_store_n(&p->waits, 0, __ATOMIC_SEQ_CST);
	give(p);   /* it keeps its place: until it has ended it still has the memory (floors_has) */
	notify(p); /* a thread of ours may wait for others */
}

/* Nobody has this right any more: its process has ended, or left, or asks anew. */
static bool lapsed(uint32_t right)
{
	struct place *p = place_of(right);
	const uint32_t pid = __atomic_load_n(&p->pid, __ATOMIC_SEQ_CST);
	return right_of(p) != (right & ~GIVEN) || process_ended(pid);
}

/* The process that has this right is dead or stopped: nobody is to hand it another floor.  One that asks anew waits. */
static bool pass_over(uint32_t floor, uint32_t right, uint32_t ours)
{
	struct place *p = place_of(right);
	if (right_of(p) == (right & ~GIVEN))
		__atomic_store_n(&p->waits, 0, __ATOMIC_SEQ_CST);
	return passes(floor, right, ours);
}

/* A system call: the vDSO reads the counter, which may trap here. */
static uint64_t now_ms(void)
{
	struct timespec ts = {0};
	raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&ts, 0, 0, 0, 0);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* For how long a process has kept a floor, as the process that waits for it counts: while it wants to run, on a machine
 * where many do, only what it did run. */
struct keeps {
	uint64_t ms, ticks;
};

static void keeps_longer(struct keeps *k, uint32_t pid, uint64_t passed_ms)
{
	const struct process_now now = process_now(pid);
	const uint64_t ticks = now.user_ticks + now.system_ticks, ran_ms = (ticks - k->ticks) * TICK_MS;
	const bool wants = now.state == 'R' || now.state == 'D';
	k->ms += wants && ran_ms < passed_ms ? ran_ms : passed_ms;
	k->ticks = ticks;
}

static uint32_t take(struct place *p, uint32_t floor)
{
	const uint32_t ours = right_of(p);
	uint32_t held = 0;              /* who has the floor */
	uint64_t since = 0, looked = 0; /* since when, without waiting for another; when that was looked at */
	struct keeps keeps = {0};
	uint32_t kept = 0;
	for (uint32_t now; own && (now = right(floor)) != ours;) {
		/* each time: pass_over() may have meant us, or the process that had the place before us */
		const bool anew = __atomic_exchange_n(&p->waits, floor + 1, __ATOMIC_SEQ_CST) != floor + 1;
		if (!now || now == (ours | GIVEN)) {
			becomes(floor, now, ours);
			continue;
		}
		struct place *holder = place_of(now);
		if (now != held) {
			since = looked = now_ms();
			keeps = (struct keeps){0};
		}
		if (now != held || anew) /* it may have looked for waiting processes just when we were none */
			notify(holder);
		held = now;
		wait_while(&floors->right[floor], now, LOOK_MS); /* signals may end it, again and again */
		const uint64_t at = now_ms(), passed = at - looked;
		if (passed < LOOK_MS)
			continue;
		looked = at;
		const uint32_t other = __atomic_load_n(&holder->waits, __ATOMIC_SEQ_CST);
		const uint32_t pid = __atomic_load_n(&holder->pid, __ATOMIC_SEQ_CST);
		keeps_longer(&keeps, pid, passed);
		if (other && other != floor + 1) {
			since = at;
			keeps.ms = 0;
		}
		const bool nobody = lapsed(now);
		const bool unseen = now & GIVEN && at - since >= LOOK_MS; /* it is stopped, or waits for a processor */
		if ((nobody || unseen || keeps.ms >= LONGEST_MS) && pass_over(floor, now, ours) && !nobody && !unseen)
			kept = pid;
	}
	__atomic_store_n(&p->waits, 0, __ATOMIC_SEQ_CST);
	return kept;
}

static void add(uint64_t key)
{
	const uint32_t floor = (uint32_t)(key % FLOORS);
	unsigned at = set.n;
	while (at && set.floor[at - 1] >= floor)
		at--;
	if (set.n == FLOORS_MOST || (at < set.n && set.floor[at] == floor))
		return;
	memmove(set.floor + at + 1, set.floor + at, (set.n++ - at) * sizeof(*set.floor));
	set.floor[at] = floor;
}

uint32_t floors_take(const uint64_t *keys, unsigned n)
{
	struct place *p = own;
	uint32_t kept = 0;
	if (!p)
		return 0;
	set.n = 0;
	for (unsigned i = 0; i < n; i++)
		add(keys[i]);
	__atomic_store_n(&p->asked, __atomic_add_fetch(&floors->requests, 1, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < set.n; i++) {
		const uint32_t by = take(p, set.floor[i]);
		kept = by ? by : kept;
	}
	return kept;
}

/* Does another process wait for a floor that we have? */
static bool others_wait(void)
{
	const uint32_t used = __atomic_load_n(&floors->used, __ATOMIC_SEQ_CST);
	for (const struct place *p = floors->places; p < floors->places + used; p++) {
		const uint32_t waits = __atomic_load_n(&p->waits, __ATOMIC_SEQ_CST);
		for (unsigned i = 0; waits && p != own && i < set.n; i++)
			if (set.floor[i] == waits - 1)
				return true;
	}
	return false;
}

bool floors_await_others(const bool *ends)
{
	struct place *p;
	while ((p = own) && !__atomic_load_n(ends, __ATOMIC_SEQ_CST)) {
		const uint32_t seen = __atomic_load_n(&p->wanted, __ATOMIC_SEQ_CST);
		if (others_wait())
			break;
		wait_while(&p->wanted, seen, 0);
	}
	return own && !*ends;
}

void floors_look(void)
{
	if (own)
		notify(own);
}

void floors_expect(uint32_t pid)
{
	for (uint32_t i = 0; own && i < PLACES; i++)
		if (take_place(&floors->places[i], pid)) {
			now_used(i + 1);
			return;
		}
}

bool floors_has(uint32_t pid)
{
	for (uint32_t i = 0; floors && i < floors->used; i++)
		if (__atomic_load_n(&floors->places[i].pid, __ATOMIC_SEQ_CST) == pid)
			return true;
	return false;
}

/* Not longer than some hundredths of a second: it may have been continued, or wait in the kernel for a child of vfork. */
static void await_stop(uint32_t pid)
{
	const struct timespec pause = {.tv_nsec = 500000};
	char state;
	for (int left = 100; left && (state = process_now(pid).state) && strchr("RSD", state); left--)
		raw_syscall(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
}

void floors_await_stop(int to)
{
	for (uint32_t i = 0; floors && i < floors->used; i++) {
		const uint32_t pid = __atomic_load_n(&floors->places[i].pid, __ATOMIC_SEQ_CST);
		if (pid && (to > 0 ? (int)pid == to : raw_syscall(SYS_getpgid, pid, 0, 0, 0, 0, 0) == -to))
			await_stop(pid);
	}
}
