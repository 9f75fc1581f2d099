/* Who waits for whom while payloads are made again.  A rank that has waited for a while writes that to a file, again
 * and again; a rank that goes on writes that before it does anything else.  So the files of all ranks are true of one
 * moment, and their reader (rdb/live/expand/waits.py) can tell a slow rank from one that will never go on. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "crossing/own_thread.h"
#include "base/monotonic.h"
#include "base/private_file.h"
#include "replay/expand.h"

enum { LOOK_MS = 250 };

static struct {
	pthread_mutex_t lock;
	uint64_t turn; /* begins and ends of waits so far */
	uint64_t event;
	enum rdb_wait what;
	int peer, tag;
	atomic_ulong looks; /* looks in vain since the wait began */
	uint64_t since_ms;  /* processor time when it began to wait */
	bool said, over;
	char host[64];
} waits = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t spent_ms(void)
{
	return processor_ns() / 1000000u;
}

/* The file is replaced as a whole.  Its last number is looks in vain; for a collective, which looks by itself, it is
 * processor time in ms. */
static void say(const char *what)
{
	bool together = waits.what == RDB_WAIT_TOGETHER;
	char temp[4096], path[4096], text[256];
	snprintf(path, sizeof(path), "%s/expanding", lower.opt.dir);
	snprintf(temp, sizeof(temp), "%s/expanding.new", lower.opt.dir);
	int len = snprintf(text, sizeof(text), "%d %s %lu %lu %s %d %d %lu\n", getpid(), waits.host,
			   (unsigned long)waits.turn, (unsigned long)waits.event, what, waits.peer, waits.tag,
			   together ? (unsigned long)(spent_ms() - waits.since_ms) : atomic_load(&waits.looks));
	int fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int rc = fd < 0 ? 0 : write(fd, text, (size_t)len) == len ? 0 : -EIO;
	rc = private_publish(fd, rc, temp, path);
	if (rc)
		rdb_warn("%s: %s: a rank that waits forever is not detected", path, strerror(-rc));
}

static const char *words(enum rdb_wait what)
{
	static const char *const all[] = {"computes", "message", "receiver", "together"};
	return all[what];
}

static void *attend(void *arg)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000l};
	uint64_t seen = 0;
	for (;;) {
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&waits.lock);
		if (waits.what != RDB_WAIT_NOTHING && waits.turn == seen && !waits.over) {
			say(words(waits.what));
			waits.said = true;
		}
		seen = waits.turn;
		pthread_mutex_unlock(&waits.lock);
	}
	return arg;
}

int expand_waits_begin(void)
{
	if (gethostname(waits.host, sizeof(waits.host) - 1) || !waits.host[0])
		snprintf(waits.host, sizeof(waits.host), "?");
	return -own_thread(attend, NULL);
}

void expand_waits_at(uint64_t event)
{
	waits.event = event; /* read only while the rank waits */
}

void expand_waits(enum rdb_wait what, int peer, int tag)
{
	pthread_mutex_lock(&waits.lock);
	waits.turn++;
	waits.what = what;
	waits.peer = peer;
	waits.tag = tag;
	atomic_store(&waits.looks, 0);
	waits.since_ms = what == RDB_WAIT_TOGETHER ? spent_ms() : 0;
	if (waits.said && !waits.over)
		say(words(RDB_WAIT_NOTHING));
	waits.said = false;
	pthread_mutex_unlock(&waits.lock);
}

void expand_looked(void)
{
	atomic_fetch_add_explicit(&waits.looks, 1, memory_order_relaxed);
}

void expand_waits_ended(bool asks)
{
	pthread_mutex_lock(&waits.lock);
	waits.turn++;
	waits.over = true;
	waits.what = RDB_WAIT_NOTHING;
	say(asks ? "asks" : "ended");
	pthread_mutex_unlock(&waits.lock);
}
