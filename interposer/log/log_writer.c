#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "base/io.h"
#include "log/log_segment.h"
#include "log/log_shorten.h"
#include "log/log_writer.h"
#include "log/pieces.h"
#include "log/segment_header.h"
#include "log/stamp.h"
#include "base/thread.h"
#include "base/private_file.h"

enum {
	FIRST_SEGMENT = 1 << 20, /* bytes; short programs stay small */
	SEGMENT = 16 << 20,
	PREFAULT_FIRST = PIECE_SMALLEST, /* pages are made present this many bytes at a time, */
	PREFAULT = PIECE_LARGEST,        /* twice as many each time up to so many */
	DIRECT = 64 << 10,               /* records from this size on are written, not copied through the map */
	READY_PIECE = 64 << 10,
	AHEAD = 4 << 20, /* log_ahead() */
	SMALL = 256,     /* parts of a record up to this size are copied word by word */
};

struct log_segment log_;

/* Warns at each GiB of a log that no option bounds.  BEFORE: bytes that the log had at the last check. */
static void tell_size(uint64_t before)
{
	const uint64_t gib = log_.closed >> 30;
	if (gib == before >> 30 || log_.budget || lower.opt.keep.unit != LIMIT_NONE)
		return;
	rdb_warn("%s: the log has %lu GiB; rdb run --keep 500MB keeps only its end, --log-budget 500MB only its "
		 "beginning%s",
		 lower.opt.dir, (unsigned long)gib,
		 lower.opt.order ? "" : ", --record=order only the order of MPI messages");
}

/* Beyond RLIMIT_FSIZE the kernel also sends SIGXFSZ (setrlimit(2)).  It is taken here: the program did not exceed the
 * limit. */
static int allocate(int fd, size_t len)
{
	const struct timespec now = {0};
	sigset_t told;
	const int rc = -posix_fallocate(fd, 0, (off_t)len);
	sigemptyset(&told);
	sigaddset(&told, SIGXFSZ);
	if (rc == -EFBIG)
		sigtimedwait(&told, NULL, &now);
	return rc;
}

/* A segment gets its name when its header is whole: whoever is killed before has written none. */
static const char unnamed[] = "segment-new";

static int open_segment(unsigned index, size_t len, uint64_t first_event)
{
	const struct log_segment_header h = segment_header(index, first_event);
	char name[32];
	snprintf(name, sizeof(name), "log-%06u.seg", index);
	int fd = private_create(log_.dirfd, unnamed, O_RDWR | O_EXCL);
	if (fd < 0)
		return fd;
	fd = lower_fd(fd);
	int rc = fd < 0 ? fd : allocate(fd, len);
	uint8_t *p = MAP_FAILED;
	if (!rc) {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		rc = p == MAP_FAILED ? -errno : 0;
	}
	if (!rc) {
		/* no read-ahead on faults: it would fill pages with zeros that are about to be overwritten */
		madvise(p, len, MADV_RANDOM);
		memcpy(p, &h, sizeof(h));
		rc = renameat(log_.dirfd, unnamed, log_.dirfd, name) ? -errno : 0;
	}
	if (rc) {
		if (p != MAP_FAILED)
			munmap(p, len);
		unlinkat(log_.dirfd, unnamed, 0);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (log_.base) {
		/* what is left over stays zero: the reader goes on to the next segment */
		munmap(log_.base, log_.len);
		log_.closed += log_.off;
		tell_size(log_.closed - log_.off);
		if (ftruncate(log_.fd, (off_t)log_.off))
			rdb_warn("log segment %u: %s", log_.segment, strerror(errno));
		close(log_.fd);
	}
	log_.fd = fd;
	log_.segment = index;
	log_.base = p;
	log_.len = len;
	log_.off = sizeof(h);
	log_.faulted = log_.ready = 0;
	log_.ahead = PREFAULT_FIRST;
	log_.last = NULL;
	log_.budget = lower.opt.log_budget.unit ? lower.opt.log_budget.value : 0;
	log_.same = 0;
	memset(&log_.cycle, 0, sizeof(log_.cycle));
	memset(log_.models, 0, sizeof(log_.models));
	memset(log_.forms, 0, sizeof(log_.forms));
	if (index)
		pieces_try();
	return 0;
}

int log_open(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	log_.dirfd = lower_fd(fd);
	return log_.dirfd < 0 ? log_.dirfd : open_segment(0, FIRST_SEGMENT, 0);
}

int log_reopen(const char *dir)
{
	if (log_.base) {
		munmap(log_.base, log_.len);
		close(log_.fd);
	}
	close(log_.dirfd);
	memset(&log_, 0, sizeof(log_));
	return log_open(dir);
}

static size_t record_size(const struct event *ev)
{
	size_t size = sizeof(struct log_record) + 8ul * ev->nargs;
	for (unsigned i = 0; i < ev->nchunks; i++)
		size += sizeof(struct log_chunk) + (((size_t)ev->chunks[i].len + 7) & ~7ul);
	return size;
}

static const uint8_t zeros[PIECE_SMALLEST];

/* Start of the first page that nothing was written to. */
static size_t untouched(void)
{
	size_t from = (log_.off + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	if (from < log_.faulted)
		from = log_.faulted;
	return from < log_.ready ? log_.ready : from;
}

bool log_ahead(void)
{
	const size_t from = untouched();
	size_t want = log_.off + (log_.large < AHEAD ? log_.large : AHEAD);
	if (want > log_.len)
		want = log_.len;
	if (!log_.base || from >= want)
		return false;
	const size_t to = (from + sizeof(zeros)) & ~(sizeof(zeros) - 1);
	const size_t len = (to < log_.len ? to : log_.len) - from;
	log_.ready = from + len;
	return !io_write_all(log_.fd, zeros, len, from, sizeof(zeros));
}

/* Makes pages present up to `end`, and more each time.  Zeros are written first: that makes many pages at a
 * time, where a fault on a mapped file makes one and costs as much as four. */
void log_make_present(size_t end)
{
	if (log_.faulted < log_.off) /* the page that `off` is in has been written to */
		log_.faulted = (log_.off + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	while (log_.faulted < end) {
		size_t from = log_.faulted, to = (from + log_.ahead) & ~(size_t)(PREFAULT_FIRST - 1);
		struct pieces pieces;
		if (to > log_.len)
			to = log_.len;
		pieces_begin(&pieces, to - from);
		struct io_gather g = {
			.fd = log_.fd, .off = from < log_.ready ? log_.ready : from, .piece = pieces.size};
		while (g.off < to && !g.rc) /* what fails here faults below */
			io_gather_put(&g, zeros, to - g.off < sizeof(zeros) ? to - g.off : sizeof(zeros));
		io_gather_flush(&g);
		pieces_end(&pieces, to - from);
		/* a kernel without MADV_POPULATE_WRITE (< 5.14) faults page by page instead */
		madvise(log_.base + from, to - from, 23 /* MADV_POPULATE_WRITE */);
		log_.faulted = to;
		if (log_.ahead < PREFAULT)
			log_.ahead *= 2;
	}
}

static void fill_header(struct log_record *rec, const struct event *ev, uint64_t number)
{
	const uint64_t counter = stamp_counter();
	*rec = (struct log_record){
		.not_repeat = UINT32_MAX,
		.kind = ev->kind,
		.nargs = ev->nargs,
		.nr = ev->nr,
		.event = number,
		.result = ev->result,
		.at_ns = ev->looks_ns ? ev->looks_ns : stamp_at(counter),
		.took = ev->begun ? stamp_took(ev->begun, counter) : 0,
		.thread = ev->kind == LOG_END && lower.killed ? 0 : thread_self()->upper.number,
	};
}

/* Small data in words: a call of memcpy() for each part of a short record takes longer than all of its words. */
static inline uint64_t copy_words(uint64_t crc, uint8_t *to, const void *from, size_t len)
{
	uint64_t w;
	const uint8_t *p = from;
	for (; len >= 8; len -= 8, p += 8, to += 8) {
		memcpy(&w, p, 8);
		memcpy(to, &w, 8);
		crc = crc32c_word(crc, w);
	}
	if (len) { /* the rest, padded to a word */
		w = 0;
		for (size_t i = 0; i < len; i++)
			w |= (uint64_t)p[i] << 8 * i;
		memcpy(to, &w, 8);
		crc = crc32c_word(crc, w);
	}
	return crc;
}

static void append_mapped(const struct event *ev, uint64_t number, size_t size)
{
	log_present(log_.off + size);
	struct log_record *rec = (void *)(log_.base + log_.off);
	fill_header(rec, ev, number);
	uint8_t *p = (uint8_t *)(rec + 1);
	uint64_t crc = ~crc32c(0, (uint8_t *)rec + 16, sizeof(*rec) - 16) & UINT32_MAX;
	crc = copy_words(crc, p, ev->args, 8ul * ev->nargs);
	p += 8ul * ev->nargs;
	for (unsigned i = 0; i < ev->nchunks; i++) {
		const struct event_chunk *c = &ev->chunks[i];
		const struct log_chunk head = {.addr = c->addr, .len = c->len, .note = c->note};
		crc = copy_words(crc, p, &head, sizeof(head));
		p += sizeof(head);
		if (c->len <= SMALL) {
			crc = copy_words(crc, p, c->data, c->len);
			p += (c->len + 7ul) & ~7ul;
			continue;
		}
		size_t pad = (8 - c->len % 8) % 8;
		memcpy(p, c->data, c->len);
		uint32_t check = crc32c_data(~(uint32_t)crc, p, c->len);
		memset(p + c->len, 0, pad);
		crc = ~crc32c(check, p + c->len, pad) & UINT32_MAX;
		p += c->len + pad;
	}
	rec->check = ~(uint32_t)crc;
	__atomic_store_n(&rec->size, (uint32_t)size, __ATOMIC_RELEASE);
	log_.last = NULL;
	log_cycle_ends();
	if (size <= LOG_MODEL_MAX && LOG_IS_EVENT(ev->kind))
		log_model(log_.off);
	else if (LOG_IS_EVENT(ev->kind))
		log_.same = 0;
}

/* Large answers: no page faults on the mapped segment, one copy into the page cache.  What makes the record
 * valid, its size, is written last. */
static int append_direct(const struct event *ev, uint64_t number, size_t size)
{
	struct log_record rec;
	struct log_chunk head;
	struct pieces pieces = {.size = READY_PIECE};
	const bool fresh = log_.ready < log_.off; /* memory found before: any piece costs the same */
	if (fresh)
		pieces_begin(&pieces, size);
	struct io_gather g = {.fd = log_.fd, .off = log_.off, .piece = pieces.size};
	fill_header(&rec, ev, number);
	uint32_t crc = crc32c(0, (uint8_t *)&rec + 16, sizeof(rec) - 16);
	crc = crc32c(crc, ev->args, 8ul * ev->nargs);
	io_gather_put(&g, &rec, sizeof(rec));
	io_gather_put(&g, ev->args, 8ul * ev->nargs);
	for (unsigned i = 0; i < ev->nchunks && !g.rc; i++) {
		const struct event_chunk *c = &ev->chunks[i];
		size_t pad = (8 - c->len % 8) % 8;
		head = (struct log_chunk){.addr = c->addr, .len = c->len, .note = c->note};
		crc = crc32c(crc32c_data(crc32c(crc, &head, sizeof(head)), c->data, c->len), zeros, pad);
		io_gather_put(&g, &head, sizeof(head));
		io_gather_put(&g, c->data, c->len);
		io_gather_put(&g, zeros, pad);
		if (g.nparts && i + 1 < ev->nchunks)
			io_gather_flush(&g); /* `head` is used again */
	}
	io_gather_flush(&g);
	if (fresh)
		pieces_end(&pieces, size);
	rec.size = (uint32_t)size;
	rec.check = crc;
	if (!g.rc)
		g.rc = io_write_all(log_.fd, &rec, offsetof(struct log_record, repeat), log_.off, IO_PIECE);
	log_.last = NULL;
	log_.same = 0;
	log_cycle_ends();
	log_.ahead = PREFAULT_FIRST;
	log_.large = size;
	return g.rc;
}

/* --keep drops whole segments, so it makes them smaller. */
static size_t segment_size(void)
{
	const struct limit *keep = &lower.opt.keep;
	size_t part = keep->value / 8 & ~(RDB_PAGE - 1);
	if (keep->unit != LIMIT_BYTES || part >= SEGMENT)
		return SEGMENT;
	return part > FIRST_SEGMENT ? part : FIRST_SEGMENT;
}

int log_append(const struct event *ev, uint64_t number)
{
	size_t size = record_size(ev);
	int rc = size <= LOG_MODEL_MAX && LOG_IS_EVENT(ev->kind) ? log_shorten(ev, number, size) : 0;
	if (rc)
		return rc < 0 ? rc : 0;
	if (size > UINT32_MAX - 8)
		return -EFBIG;
	if (log_.budget && log_written() + size > log_.budget)
		return -EDQUOT;
	if (log_.off + size + LOG_END_ROOM > log_.len) {
		size_t want = (size + LOG_END_ROOM + sizeof(struct log_segment_header) + RDB_PAGE - 1) &
			      ~(RDB_PAGE - 1);
		size_t usual = segment_size();
		rc = open_segment(log_.segment + 1, want > usual ? want : usual, number);
		if (rc)
			return rc;
	}
	if (size >= DIRECT)
		rc = append_direct(ev, number, size);
	else
		append_mapped(ev, number, size);
	if (!rc)
		log_.off += size;
	return rc;
}

void log_position(uint32_t *segment, uint64_t *off)
{
	*segment = log_.segment;
	*off = log_.off;
	log_.last = NULL; /* a repetition must not cross an image */
	log_cycle_ends();
}

uint64_t log_written(void)
{
	return log_.closed + log_.off;
}

void log_end(enum log_end how, int64_t value, const char *text)
{
	if (!log_.base)
		return;
	size_t len = text ? strnlen(text, LOG_END_ROOM - 128) : 0;
	struct event_chunk chunk = {.addr = 0, .data = text, .len = (uint32_t)len, .note = RDB_NOTE_TEXT};
	struct event ev;
	memset(&ev, 0, offsetof(struct event, notes));
	ev.kind = LOG_END;
	ev.nr = how;
	ev.result = value;
	ev.nchunks = len ? 1 : 0;
	ev.chunks = &chunk;
	size_t size = record_size(&ev);
	append_mapped(&ev, lower.event, size);
	log_.off += size;
	munmap(log_.base, log_.len);
	log_.base = NULL;
	if (ftruncate(log_.fd, (off_t)log_.off))
		rdb_warn("log segment %u: %s", log_.segment, strerror(errno));
	close(log_.fd);
	log_.fd = -1;
}
