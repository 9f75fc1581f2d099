#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/pagemap_scan.h"
#include "space/arena.h"
#include "task/baton.h"
#include "answer/vfork.h"

enum { BATCH = 512 };

struct page {
	uint64_t addr;
	uint8_t data[RDB_PAGE];
};

static int to_parent = -1;

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

void vfork_child(const int ends[2], bool shared)
{
	close(ends[0]);
	to_parent = shared ? ends[1] : -1; /* left open in both cases: the kernel closes it at exec or exit */
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
			page.addr = at;
			memcpy(page.data, (void *)at, RDB_PAGE);
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
	int rc = pagemap < 0 ? pagemap : arena_each(send_pages, &pagemap);
	if (rc && rc != -EPIPE)
		rdb_warn("child %d: its parent (vfork) does not see what the child wrote to memory: %s", lower.pid,
			 strerror(-rc));
	if (pagemap >= 0)
		close(pagemap);
	to_parent = -1;
}

/* Stores and logs only the words that differ. */
static void apply(const struct page *page, struct event *ev)
{
	uint64_t *here = (uint64_t *)page->addr;
	const uint64_t *there = (const void *)page->data;
	for (unsigned i = 0, from; i < RDB_PAGE / 8; i++) {
		for (from = i; i < RDB_PAGE / 8 && here[i] != there[i]; i++)
			here[i] = there[i];
		if (i > from)
			event_out(ev, here + from, (i - from) * 8);
	}
}

void vfork_wait(const int ends[2], struct event *ev)
{
	static struct page page;
	struct pollfd leaves = {.fd = ends[0], .events = POLLIN};
	close(ends[1]);
	const bool given = baton_block_begin();
	while (poll(&leaves, 1, -1) < 0 && errno == EINTR)
		;
	baton_block_end(given);
	while (transfer(ends[0], &page, sizeof(page), false))
		apply(&page, ev);
	close(ends[0]);
}
