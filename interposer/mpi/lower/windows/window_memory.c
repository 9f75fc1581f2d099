/* The copies of windows' memory, and copying between them (windows.h). */
#include "lower/objects/real.h"
#include "lower/windows/window_ways.h"
#include "lower/windows/window_words.h"
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096ul
#define EVERY_CALL (64 << 10) /* up to so many bytes of windows are compared at all calls */
#define TAKE_NS \
	50000000 /* windows_take() waits so long for a pass without changes, and gives up if others never stop */

static struct window_part *parts;
static size_t parts_bytes;
bool windows_there, windows_asleep;

static struct {
	pthread_mutex_t lock; /* protects the list of parts, which only the plug-in's thread changes */
	bool started;
	unsigned long calls; /* number of MPI calls so far */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* say: report the bytes as memory that the current call reads. */
static void publish(bool say)
{
	for (struct window_part *part = parts; part; part = part->next)
		window_part_publish(part, say);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool take_once(void)
{
	bool changed = false;

	for (struct window_part *part = parts; part; part = part->next)
		changed |= window_part_take(part);
	return changed;
}

/* Repeats until nothing has changed during a pass: a program that sees the last put must see the earlier ones, too.
 * Gives up after TAKE_NS: a program that relies on the order of puts without synchronisation does not put all the
 * time. */
void windows_take(void)
{
	uint64_t begun = 0;
	bool changed;

	do {
		changed = take_once();
		if (changed && !begun)
			begun = now_ns();
	} while (changed && now_ns() - begun < TAKE_NS);
}

void windows_show(void)
{
	for (struct window_part *part = parts; part; part = part->next) {
		memcpy(part->base, part->upper, part->len);
		memcpy(part->public, part->upper, part->len);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ---- at calls ---- */

/* A test that completed no request: it tells the program nothing about other ranks. */
static bool in_vain(unsigned index, unsigned long completed)
{
	return (index == RDB_Test || index == RDB_Testall || index == RDB_Testany || index == RDB_Testsome) &&
	       completed == requests_completed;
}

static unsigned long completed_before;

void windows_before(unsigned index)
{
	__atomic_add_fetch(&watch.calls, 1, __ATOMIC_RELAXED);
	completed_before = requests_completed;
	if (parts_bytes <= EVERY_CALL || (window_way(index) & WINDOW_OUT))
		publish(true);
}

void windows_after(unsigned index)
{
	if (parts_bytes > EVERY_CALL && (!(window_way(index) & WINDOW_IN) || in_vain(index, completed_before)))
		return;
	if (index == RDB_Win_fence || index == RDB_Win_wait)
		take_once(); /* all data of the epoch is here */
	else
		windows_take();
}

/* ---- while the program makes no calls ---- */

static int progress(void)
{
	publish(false);
	windows_take();
	return 0;
}

enum {
	LOOK_NS = 1000000,        /* between two looks while data arrives */
	LOOK_RARELY_NS = 8000000, /* otherwise */
	LOOK_SHARE = 20,          /* looks take at most 1/20 of the time */
	STORES_NS = 40000000,     /* between two stops of the program to publish its own stores */
};

struct seen {
	bool arrived, stored;
};

static struct seen look(void)
{
	struct seen seen = {0};

	pthread_mutex_lock(&watch.lock);
	for (struct window_part *part = parts; part; part = part->next) {
		seen.arrived |= window_part_arrived(part);
		seen.stored |= window_part_stored(part);
	}
	pthread_mutex_unlock(&watch.lock);
	return seen;
}

static void *attend(void *unused __attribute__((unused)))
{
	uint64_t pause = LOOK_NS, stored_at = 0;
	unsigned long calls = 0;

	for (;;) {
		struct timespec wait = {.tv_nsec = (long)pause};
		unsigned long calls_now = __atomic_load_n(&watch.calls, __ATOMIC_RELAXED);
		uint64_t begun;
		struct seen seen;

		nanosleep(&wait, NULL);
		if (!windows_there || windows_asleep)
			continue;
		if (calls != calls_now) { /* calls compare the copies themselves */
			calls = calls_now;
			continue;
		}
		begun = now_ns();
		seen = look();
		if (seen.stored && begun - stored_at > STORES_NS) {
			stored_at = begun;
			host->arrived();
		} else if (seen.arrived) {
			host->arrived();
		}
		pause = seen.arrived ? LOOK_NS : pause * 2;
		pause = pause > LOOK_RARELY_NS ? LOOK_RARELY_NS : pause;
		if (pause < (now_ns() - begun) * LOOK_SHARE)
			pause = (now_ns() - begun) * LOOK_SHARE;
		pause = pause > 999999999 ? 999999999 : pause;
	}
	return NULL;
}

static void attend_begin(void)
{
	pthread_t id;
	int rc;

	if (watch.started)
		return;
	rc = pthread_create(&id, NULL, attend, NULL);
	if (rc)
		host->fatal("cannot start the thread that handles incoming one-sided operations: %s", strerror(rc));
	pthread_detach(id);
	watch.started = true;
	own_plugin->progress = progress;
}

/* ---- parts ---- */

/* Sets the size of words, by the alignment that both addresses have in common. */
static void place(struct window_part *part, char *public)
{
	uintptr_t differ = (uintptr_t)part->upper ^ (uintptr_t) public;

	part->public = public;
	part->word = differ & 3 ? 1 : differ & 7 ? 4 : 8;
}

static struct window_part *part_of(char *upper, size_t len)
{
	struct window_part *part = needed(calloc(1, sizeof(*part)));

	part->upper = upper;
	part->len = len;
	part->base = needed(malloc(len + 64));
	part->base += (uintptr_t)upper & 7;
	memcpy(part->base, upper, len);
	return part;
}

static bool overlaps(const struct window_part *part, uintptr_t from, uintptr_t to)
{
	uintptr_t start = (uintptr_t)part->own;

	return part->own && start < to && start + part->own_bytes > from;
}

static bool shared_pages(uintptr_t from, uintptr_t to)
{
	bool shared = false;

	for (struct window_part *part = parts; part && !shared; part = part->next)
		shared = overlaps(part, from, to);
	return shared;
}

/* Maps the pages of a copy.  Pages that another attached part has mapped already are shared with it. */
static bool map_shifted(uintptr_t from, uintptr_t to)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	const bool shared = shared_pages(from, to);

	for (uintptr_t at = from, n = shared ? PAGE : to - from; at < to; at += n) {
		void *got = mmap((void *)at, n, PROT_READ | PROT_WRITE, flags, -1, 0);

		if (got == MAP_FAILED && !(errno == EEXIST && shared))
			return false;
	}
	return true;
}

struct window_part *window_part_new(char *upper, size_t len, bool shifted)
{
	uintptr_t page = (uintptr_t)upper & ~(PAGE - 1), offset = (uintptr_t)upper - page;
	size_t bytes = (offset + (len ? len : 1) + PAGE - 1) & ~(PAGE - 1);
	struct window_part *part = part_of(upper, len);

	part->own_bytes = bytes;
	if (shifted) {
		part->own = (void *)(page + WINDOW_SHIFT);
		if (!map_shifted(page + WINDOW_SHIFT, page + WINDOW_SHIFT + bytes))
			part->own = NULL;
	} else {
		part->own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				 0);
		part->own = part->own == MAP_FAILED ? NULL : part->own;
	}
	if (!part->own) {
		window_part_free(part);
		return NULL;
	}
	if (!shifted)
		offset &= ~(window_alignment() - 1);
	place(part, (char *)part->own + offset);
	memcpy(part->public, part->base, len);
	return part;
}

struct window_part *window_part_over(char *upper, char *public, size_t len)
{
	struct window_part *part = part_of(upper, len);

	place(part, public);
	memcpy(public, part->base, len);
	return part;
}

void window_part_add(struct window_part *part, struct vwin *win)
{
	part->win = win;
	pthread_mutex_lock(&watch.lock);
	part->next = parts;
	parts = part;
	parts_bytes += part->len;
	windows_there = true;
	pthread_mutex_unlock(&watch.lock);
	attend_begin();
}

struct window_part *window_part_remove(const struct vwin *win, const char *upper, bool any)
{
	struct window_part **link = &parts, *part;

	while ((part = *link) && (part->win != win || (!any && part->upper != upper)))
		link = &part->next;
	if (!part)
		return NULL;
	pthread_mutex_lock(&watch.lock);
	*link = part->next;
	parts_bytes -= part->len;
	windows_there = parts != NULL;
	pthread_mutex_unlock(&watch.lock);
	return part;
}

void window_part_free(struct window_part *part)
{
	const uintptr_t from = (uintptr_t)part->own, to = from + part->own_bytes;
	const uintptr_t step = part->own && shared_pages(from, to) ? PAGE : part->own_bytes;

	for (uintptr_t at = from; part->own && at < to; at += step) {
		if (!shared_pages(at, at + step))
			munmap((void *)at, step);
	}
	free((void *)((uintptr_t)part->base & ~7ul));
	free(part);
}

struct window_part *window_part_next(const struct vwin *win, const struct window_part *last)
{
	struct window_part *part = last ? last->next : parts;

	while (part && part->win != win)
		part = part->next;
	return part;
}

void windows_end(void)
{
	pthread_mutex_lock(&watch.lock);
	parts = NULL;
	windows_there = false;
	pthread_mutex_unlock(&watch.lock);
}
