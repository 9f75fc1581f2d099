#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/pagemap_scan.h"
#include "base/thread.h"
#include "space/arena.h"
#include "space/floors.h"
#include "task/baton.h"
#include "answer/unknown_maps.h"
#include "answer/vfork.h"

enum { BATCH = 512 };

enum { WORDS = RDB_PAGE / 8 };
static const uint64_t APART = 1ul << 36;

struct page {
	uint64_t addr;
	uint64_t changed[WORDS / 64]; /* a bit for each word that the child may have stored to */
	uint64_t data[WORDS];
};

static int to_parent = -1;
static struct {
	pid_t pid; /* 0: none */
	int memory;
	int lives; /* its counterpart ends the process */
} before = {.memory = -1};

int vfork_open(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	for (unsigned i = 0; i < 2; i++) {
		int high = lower_fd(ends[i]);
		if (high < 0) {
			close(ends[0]);
			close(ends[1]);
			return high;
		}
		ends[i] = high;
	}
	return 0;
}

/* Other threads of the parent run on and store next to what the child stores to.  A process that does nothing keeps the
 * memory as it was, so that the child sends only what it changed itself.  It ends with the child's end of a socket pair:
 * a child that has become another user may send it no signal, and its death neither (kill(2)). */
static void keep_before(void)
{
	char path[32];
	int ends[2];
	if (vfork_open(ends))
		return;
	const long pid = raw_syscall(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (pid == 0) { /* all signals are blocked; others may wait for the ends of pipes */
		char byte;
		raw_syscall(SYS_close_range, 0, ends[0] - 1, 0, 0, 0, 0);
		raw_syscall(SYS_close_range, ends[0] + 1, UINT32_MAX, 0, 0, 0, 0);
		raw_syscall(SYS_read, ends[0], (long)&byte, 1, 0, 0, 0);
		raw_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
	lower_fd_close(ends[0]);
	if (pid < 0) {
		lower_fd_close(ends[1]);
		return;
	}
	floors_expect((uint32_t)pid); /* it stores nothing in memory that processes share */
	before.pid = (pid_t)pid;
	before.lives = ends[1];
	snprintf(path, sizeof(path), "/proc/%d/mem", before.pid);
	before.memory = lower_fd(descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
}

static void forget_before(void)
{
	if (!before.pid)
		return;
	if (before.memory >= 0)
		lower_fd_close(before.memory);
	lower_fd_close(before.lives);
	before.pid = 0;
}

static void drop_before(void)
{
	const pid_t pid = before.pid;
	forget_before();
	while (pid && raw_syscall(SYS_wait4, pid, 0, __WALL, 0, 0, 0) == -EINTR)
		;
}

void vfork_child(const int ends[2], bool shared)
{
	close(ends[0]);
	to_parent = shared ? ends[1] : -1; /* left open in both cases: the kernel closes it at exec or exit */
	if (!shared)
		return;
	map_changes_begin();
	if (threads_alive() > 1) {
		keep_before();
		if (RDB_MMAP_END - lower.upper.mmap_next > 2 * APART) /* the others map memory, too */
			lower.upper.mmap_next += APART;
	}
}

bool vfork_under_way(void)
{
	return to_parent >= 0;
}

void vfork_forget(void)
{
	if (to_parent >= 0)
		close(to_parent);
	to_parent = -1;
	forget_before();
}

static bool transfer(int fd, void *data, size_t len, bool out)
{
	for (char *p = data; len;) {
		ssize_t n = out ? send(fd, p, len, MSG_NOSIGNAL) : recv(fd, p, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static int send_change(const struct map_change *c)
{
	/* else the parent has been killed */
	return transfer(to_parent, (void *)(uintptr_t)c, sizeof(*c), true) ? 0 : -EPIPE;
}

static void fill(struct page *page, uint64_t addr)
{
	static uint64_t was[WORDS];
	const bool known = before.pid && pread(before.memory, was, RDB_PAGE, (off_t)addr) == RDB_PAGE;
	page->addr = addr;
	memcpy(page->data, (void *)addr, RDB_PAGE);
	memset(page->changed, known ? 0 : 0xff, sizeof(page->changed));
	for (unsigned i = 0; known && i < WORDS; i++)
		page->changed[i / 64] |= (uint64_t)(page->data[i] != was[i]) << i % 64;
}

/* proc(5), /proc/pid/pagemap: bit 63 present, 62 swapped out, 56 mapped by this process alone.  After fork all pages are
 * shared with the parent; one that the child writes to becomes its own.  Of a page that is swapped out nothing is known:
 * the parent compares. */
static int send_pages(const struct mapping *m, void *arg)
{
	int pagemap = *(int *)arg;
	static struct page page;
	if (m->shared || (m->prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE))
		return 0;
	for (uint64_t at = m->start; (at = pagemap_next(pagemap, at, m->end)) < m->end;) {
		uint64_t e[BATCH], n = (m->end - at) / RDB_PAGE < BATCH ? (m->end - at) / RDB_PAGE : BATCH;
		if (pread(pagemap, e, n * 8, (off_t)(at / RDB_PAGE * 8)) != (ssize_t)(n * 8))
			return -EIO;
		for (uint64_t i = 0; i < n; i++, at += RDB_PAGE) {
			if (!(e[i] >> 62 & 1) && (!(e[i] >> 63) || !(e[i] >> 56 & 1)))
				continue;
			fill(&page, at);
			if (!transfer(to_parent, &page, sizeof(page), true))
				return -EPIPE; /* the parent has been killed */
		}
	}
	return 0;
}

void vfork_leaving(void)
{
	if (to_parent < 0)
		return;
	int pagemap = descriptor_open(AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY, 0);
	int rc = pagemap < 0 ? pagemap : map_changes(send_change);
	if (!rc)
		rc = send_change(&(struct map_change){0}); /* the last one */
	if (!rc)
		rc = arena_each(send_pages, &pagemap);
	if (rc && rc != -EPIPE)
		rdb_warn("child %d: its parent (vfork) does not see what the child wrote to memory: %s", lower.pid,
			 strerror(-rc));
	if (pagemap >= 0)
		close(pagemap);
	drop_before();
	to_parent = -1;
}

static bool differs(const struct page *page, const uint64_t *here, unsigned i)
{
	return page->changed[i / 64] >> i % 64 & 1 && here[i] != page->data[i];
}

/* Stores and logs only the words that differ. */
static void apply(const struct page *page, struct event *ev)
{
	uint64_t *here = (uint64_t *)page->addr;
	for (unsigned i = 0, from; i < WORDS; i++) {
		for (from = i; i < WORDS && differs(page, here, i); i++)
			here[i] = page->data[i];
		if (i > from)
			event_out(ev, here + from, (i - from) * 8);
	}
}

void vfork_wait(const int ends[2], struct event *ev)
{
	static struct page page;
	struct map_change change;
	struct pollfd leaves = {.fd = ends[0], .events = POLLIN};
	close(ends[1]);
	const bool given = baton_block_begin();
	while (poll(&leaves, 1, -1) < 0 && errno == EINTR)
		;
	baton_block_end(given);
	while (transfer(ends[0], &change, sizeof(change), false) && change.end)
		map_change_make(ev, &change);
	while (transfer(ends[0], &page, sizeof(page), false))
		apply(&page, ev);
	close(ends[0]);
}
