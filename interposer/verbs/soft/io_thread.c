/* The thread that notices work: while progress() is not called it waits for sockets and deadlines, and then calls
 * above->arrived().  It touches nothing else.  While progress() is called often it only checks now and then whether
 * this is still so. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "progress.h"

enum {
	PATIENCE_NS = 50000,  /* time for the program to call progress() before arrived() is called */
	LOOK_MIN_NS = 100000, /* between two checks while progress() is called often */
	LOOK_MAX_NS = 400000,
	REMIND_MAX_NS = 10000000, /* between two checks after arrived() was called */
	REMIND_EVERY = 20,        /* checks between two calls of arrived() */
};

static struct {
	pthread_t thread;
	bool running;
	int wake, epoll; /* wake: eventfd that wakes the thread; epoll: this eventfd and the sockets */
	atomic_uint calls;
	atomic_bool asleep, acks, stop;
	atomic_ullong deadline;
} t = {.wake = -1, .epoll = -1};

static void doze(long ns)
{
	struct timespec ts = {.tv_nsec = ns};
	nanosleep(&ts, NULL);
}

/* Returns when progress() has not been called for a while. */
static void while_busy(void)
{
	long ns = LOOK_MIN_NS;
	unsigned before;
	do {
		before = atomic_load(&t.calls);
		doze(ns);
		ns = ns * 2 > LOOK_MAX_NS ? LOOK_MAX_NS : ns * 2;
	} while (before != atomic_load(&t.calls) && !atomic_load(&t.stop));
}

/* Calls arrived(), repeatedly, until progress() has been called. */
static void tell(void)
{
	unsigned before = atomic_load(&t.calls);
	long ns = PATIENCE_NS;
	for (unsigned i = 0; before == atomic_load(&t.calls) && !atomic_load(&t.stop); i++) {
		if (i % REMIND_EVERY == 0)
			hca.above->arrived();
		doze(ns);
		ns = ns * 2 > REMIND_MAX_NS ? REMIND_MAX_NS : ns * 2;
	}
}

static bool overdue(void)
{
	uint64_t at = atomic_load(&t.deadline);
	return at && at <= hca_now();
}

/* True: there is work for progress(). */
static bool sleep_until_something(void)
{
	struct epoll_event e = {.data.fd = -1};
	uint64_t drained, at;
	bool found = true;
	int ms = -1;
	atomic_store(&t.asleep, true);
	if (!atomic_load(&t.acks) && !overdue()) {
		at = atomic_load(&t.deadline);
		if (at) {
			uint64_t now = hca_now(), left = at > now ? (at - now) / 1000000 + 1 : 0;
			ms = left > 60000 ? 60000 : (int)left;
		}
		found = epoll_wait(t.epoll, &e, 1, ms) > 0;
	}
	atomic_store(&t.asleep, false);
	if (found && e.data.fd == t.wake && !atomic_load(&t.acks)) {
		if (read(t.wake, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
			return false;
		found = false;
	}
	return found || overdue();
}

static void *run(void *arg)
{
	while (!atomic_load(&t.stop)) {
		while_busy();
		if (atomic_load(&t.stop) || !sleep_until_something())
			continue;
		unsigned before = atomic_load(&t.calls);
		doze(PATIENCE_NS);
		if (before == atomic_load(&t.calls))
			tell();
	}
	return arg;
}

static int add(int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
	return epoll_ctl(t.epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int hca_thread_start(void)
{
	sigset_t all, mask;
	t.wake = hca_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	t.epoll = t.wake < 0 ? t.wake : hca_keep(epoll_create1(EPOLL_CLOEXEC));
	if (t.epoll < 0)
		return t.epoll;
	int rc = add(t.wake);
	if (!rc)
		rc = add(hca.epoll);
	if (rc)
		return rc;
	atomic_store(&t.stop, false);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	rc = -pthread_create(&t.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	t.running = !rc;
	return rc;
}

static void wake(void)
{
	uint64_t one = 1;
	if (write(t.wake, &one, sizeof(one)) != sizeof(one))
		hca_warn("software HCA: cannot wake its thread: errno %d", errno);
}

void hca_thread_stop(void)
{
	if (t.running) {
		atomic_store(&t.stop, true);
		wake();
		pthread_join(t.thread, NULL);
	}
	hca_thread_forget();
}

void hca_thread_forget(void)
{
	if (t.wake >= 0)
		close(t.wake);
	if (t.epoll >= 0)
		close(t.epoll);
	t.wake = t.epoll = -1;
	t.running = false;
	atomic_store(&t.asleep, false);
	atomic_store(&t.deadline, 0);
}

void hca_thread_seen(void)
{
	atomic_fetch_add_explicit(&t.calls, 1, memory_order_relaxed);
}

bool hca_thread_asleep(void)
{
	return atomic_load(&t.asleep);
}

void hca_thread_due(uint64_t at)
{
	uint64_t was = atomic_load(&t.deadline);
	if (!was || at < was)
		hca_thread_deadline(at);
}

void hca_timer_set(struct list *timer, uint64_t *at, uint64_t due)
{
	*at = due;
	list_remove(timer);
	list_append(&hca.timers, timer);
	/* run() may not be called again before that time */
	if (due != UINT64_MAX)
		hca_thread_due(due);
}

void hca_thread_deadline(uint64_t at)
{
	uint64_t was = atomic_exchange(&t.deadline, at);
	if (at && (!was || at < was) && atomic_load(&t.asleep))
		wake();
}

void hca_thread_acks(bool waiting)
{
	atomic_store(&t.acks, waiting);
}
