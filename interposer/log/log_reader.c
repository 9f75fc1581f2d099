#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "log/log_reader.h"
#include "log/log_segments.h"
#include "log/log_short.h"
#include "log/segment_header.h"

static int damaged(struct log_reader *r, size_t off, const char *expected)
{
	snprintf(r->error, sizeof(r->error), "log-%06u.seg: offset %zu: expected %s", r->segment, off, expected);
	return -EBADMSG;
}

static void unmap_before(struct log_reader *r)
{
	if (r->before)
		munmap((void *)r->before, r->before_len);
	r->before = NULL;
}

/* Keeps the segment mapped: a caller that has looked ahead still reads its last record. */
static void leave_segment(struct log_reader *r)
{
	unmap_before(r);
	if (r->base) {
		r->before = r->base;
		r->before_len = r->len;
		close(r->fd);
	}
	r->base = NULL;
	r->last = NULL;
	r->len = r->off = r->checked_end = r->cycle = 0;
	memset(r->models, 0, sizeof(r->models));
}

/* The number that the next event must have.  The last one's count may have grown since it was read. */
static uint64_t next_number(const struct log_reader *r)
{
	return r->last ? r->last->event + __atomic_load_n(&r->last->repeat, __ATOMIC_ACQUIRE) + 1 : r->next_event;
}

/* -ENOENT: there is no such segment. */
static int map_segment(struct log_reader *r, unsigned index)
{
	char name[32];
	struct stat st;
	snprintf(name, sizeof(name), "log-%06u.seg", index);
	int fd = openat(r->dirfd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r->next_event = next_number(r);
	leave_segment(r);
	r->segment = index;
	int rc = fstat(fd, &st) ? -errno : 0;
	if (!rc && (size_t)st.st_size < sizeof(struct log_segment_header))
		rc = damaged(r, 0, "a segment header");
	if (!rc) {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			rc = -errno;
		else {
			r->base = p;
			r->len = (size_t)st.st_size;
			r->fd = fd;
		}
	}
	if (rc) {
		close(fd);
		return rc;
	}
	const struct log_segment_header *h = (const void *)r->base;
	if (h->magic != RDB_LOG_MAGIC)
		return damaged(r, 0, "the magic number of an rdb log");
	if (h->version != RDB_LOG_VERSION) {
		snprintf(r->error, sizeof(r->error), "log v%u, this rdb reads v%u", h->version, RDB_LOG_VERSION);
		return -EPROTO;
	}
	if (!segment_header_intact(h) || h->index != index)
		return damaged(r, 0, "an intact segment header");
	r->off = sizeof(*h);
	return 0;
}

int log_reader_open(struct log_reader *r, const char *dir)
{
	memset(r, 0, sizeof(*r));
	r->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dirfd < 0) {
		int rc = -errno;
		snprintf(r->error, sizeof(r->error), "%s: %s", dir, strerror(-rc));
		return rc;
	}
	int rc = map_segment(r, 0);
	if (rc) {
		if (!r->error[0])
			snprintf(r->error, sizeof(r->error), "%s/log-000000.seg: %s", dir, strerror(-rc));
		log_reader_close(r);
	}
	return rc;
}

void log_reader_close(struct log_reader *r)
{
	leave_segment(r);
	unmap_before(r);
	close(r->dirfd);
}

int log_reader_end(struct log_reader *r, int rc, char *error)
{
	memcpy(error, r->error, sizeof(r->error));
	log_reader_close(r);
	if (rc == -ENOMEM)
		strcpy(error, "out of memory");
	return !rc && error[0] ? -EBADMSG : rc;
}

int log_reader_seek(struct log_reader *r, unsigned segment, size_t off)
{
	if (!r->base || r->segment != segment) {
		int rc = map_segment(r, segment);
		if (rc)
			return rc;
	}
	if (off < sizeof(struct log_segment_header) || off > r->len)
		return damaged(r, off, "a record inside the segment");
	r->off = off;
	r->cycle = 0;
	r->last = NULL;
	r->counted = false;
	return 0;
}

void log_reader_place(const struct log_reader *r, struct log_place *place)
{
	*place = (struct log_place){
		.segment = r->segment,
		.off = r->off,
		.cycle = r->cycle,
		.turns = r->turns,
		.checked_end = r->checked_end,
	};
	if (r->cycle)
		place->how = LOG_PLACE_CYCLE;
	else if (r->off == sizeof(struct log_segment_header))
		place->how = LOG_PLACE_SEGMENT;
	else
		place->how = LOG_PLACE_RECORD;
	if (place->how == LOG_PLACE_RECORD)
		place->off = r->at;
	if (r->last)
		place->at_ns = r->last->at_ns;
	place->next_event = next_number(r);
	place->counted = r->counted;
}

int log_reader_resume(struct log_reader *r, const struct log_place *place)
{
	int rc = log_reader_seek(r, place->segment, place->off);
	if (rc)
		return rc;
	r->checked_end = place->checked_end;
	if (place->how == LOG_PLACE_RECORD) {
		if (!log_reader_next(r))
			return damaged(r, place->off, "the record that was there");
		if (!r->last) { /* no event */
			r->next_event = place->next_event;
			r->counted = place->counted;
		}
		return 0;
	}
	r->next_event = place->next_event;
	r->counted = place->counted;
	if (place->how == LOG_PLACE_CYCLE) {
		struct log_record *last = (void *)r->expanded[r->turn++ % LOG_EXPANDED];
		memset(last, 0, sizeof(*last));
		last->event = place->next_event - 1;
		last->at_ns = place->at_ns;
		r->last = last;
		r->cycle = place->cycle;
		r->turns = place->turns;
	}
	return 0;
}

/* Chunks are well-formed and the checksum is right.  *crc is left at the checksum. */
static bool chunks_fit(const struct log_record *rec, uint32_t *crc)
{
	const uint8_t *p = (const uint8_t *)(log_args(rec) + rec->nargs);
	const uint8_t *end = (const uint8_t *)rec + rec->size;
	if (p > end)
		return false;
	*crc = crc32c(0, (const uint8_t *)rec + 16, (size_t)(p - (const uint8_t *)rec) - 16);
	while (p < end) {
		const struct log_chunk *c = (const void *)p;
		if ((size_t)(end - p) < sizeof(*c))
			return false;
		size_t padded = ((size_t)c->len + 7) & ~(size_t)7;
		if ((size_t)(end - p) - sizeof(*c) < padded)
			return false;
		const uint8_t *data = p + sizeof(*c);
		*crc = crc32c_data(crc32c(*crc, p, sizeof(*c)), data, c->len);
		*crc = crc32c(*crc, data + c->len, padded - c->len);
		p += sizeof(*c) + padded;
	}
	return p == end;
}

/* The model of a short record; NULL: there is no whole one.  Many follow the same one. */
static const struct log_record *model_of(struct log_reader *r, size_t off, const struct log_short *s)
{
	const size_t back = 8ul * s->back, at = off - back;
	uint32_t crc;
	if (back > off || at < sizeof(struct log_segment_header) || back < sizeof(struct log_record))
		return NULL;
	const struct log_record *model = (const void *)(r->base + at);
	size_t *whole = &r->models[at / 8 % LOG_MODELS];
	if (*whole == at)
		return model;
	if (model->size % 8 || model->size < sizeof(*model) || model->size > back || !LOG_IS_EVENT(model->kind) ||
	    !chunks_fit(model, &crc) || crc != model->check)
		return NULL;
	*whole = at;
	return model;
}

/* The short record at `off`, whole, in `out`, which has room for LOG_MODEL_MAX bytes. */
static const struct log_record *expand_into(struct log_reader *r, size_t off, uint32_t size, uint64_t *out,
					    const char **expected)
{
	const struct log_short *s = (const void *)(r->base + off);
	const struct log_record *model;
	uint32_t crc;
	*expected = "a short record with a matching checksum";
	if (!log_short_fits(s, size, r->len - off))
		return NULL;
	*expected = "the model of a short record";
	model = model_of(r, off, s);
	if (!model)
		return NULL;
	const struct log_record *rec = (const void *)out;
	if (!log_short_expand(s, size, model, out) || rec->nargs != model->nargs || !chunks_fit(rec, &crc)) {
		*expected = "well-formed chunks";
		return NULL;
	}
	return rec;
}

static const struct log_record *expanded(struct log_reader *r, size_t off, uint32_t size, const char **expected)
{
	return expand_into(r, off, size, r->expanded[r->turn++ % LOG_EXPANDED], expected);
}

size_t log_whole(const uint8_t *segment, size_t len, size_t off, uint64_t *out)
{
	struct log_reader r = {.base = segment, .len = len};
	const char *expected;
	const uint32_t size = ((const struct log_short *)(segment + off))->size;
	const struct log_record *rec = expand_into(&r, off, size, out, &expected);
	return rec ? rec->size : 0;
}

/* The next event of the present cycle; NULL: so far there are no more. */
static const struct log_record *turn_of_cycle(struct log_reader *r)
{
	const struct log_cycle *c = (const void *)(r->base + r->cycle);
	const uint64_t event = next_number(r), at_ns = r->last->at_ns;
	const char *expected;
	if (r->turns == __atomic_load_n(&c->count, __ATOMIC_ACQUIRE))
		return NULL;
	r->bytes = sizeof(struct log_short);
	r->at = r->cycle - r->bytes * (c->period - r->turns++ % c->period);
	struct log_record *rec = (void *)expanded(r, r->at, sizeof(struct log_short) | LOG_SHORT, &expected);
	if (!rec) /* begins_cycle() has seen it whole: the file changes */
		return NULL;
	rec->event = event;
	rec->at_ns = at_ns;
	return r->last = rec;
}

uint32_t log_reader_pass(struct log_reader *r)
{
	if (!r->cycle || !r->turns)
		return 0;
	const struct log_cycle *c = (const void *)(r->base + r->cycle);
	const uint32_t passed = __atomic_load_n(&c->count, __ATOMIC_ACQUIRE) - r->turns;
	((struct log_record *)r->last)->event += passed; /* in r->expanded */
	r->turns += passed;
	return passed;
}

void log_reader_pass_silent(struct log_reader *r, bool silent, unsigned *turns)
{
	*turns = silent && r->cycle && r->turns > 1 ? *turns + 1 : 0;
	if (*turns >= LOG_PERIOD_MAX)
		log_reader_pass(r);
}

static bool begins_cycle(struct log_reader *r)
{
	const struct log_cycle *c = (const void *)(r->base + r->off);
	uint64_t whole[LOG_MODEL_MAX / 8]; /* not in r->expanded, which a caller may still read */
	const char *expected;
	if (!log_cycle_fits(c, c->size, r->len - r->off) || !r->counted)
		return false;
	for (unsigned i = 1; i <= c->period; i++) {
		const size_t at = r->off - i * sizeof(struct log_short);
		if (at < sizeof(struct log_segment_header) || at > r->off)
			return false;
		const struct log_short *s = (const void *)(r->base + at);
		if (s->size != (sizeof(*s) | LOG_SHORT) || !expand_into(r, at, s->size, whole, &expected))
			return false;
	}
	return true;
}

/* The writer truncates a segment that it leaves: the mapping beyond its end must not be touched. */
static bool cut(const struct log_reader *r)
{
	struct stat st;
	return r->off % 4096 == 0 && !fstat(r->fd, &st) && (size_t)st.st_size <= r->off;
}

/* A segment that was not closed ends in the room kept for END; a closed one ends with its last record. */
static bool ends_in_zeros(const struct log_reader *r)
{
	uint8_t end[64];
	size_t n = r->len - r->off < sizeof(end) ? r->len - r->off : sizeof(end);
	ssize_t got = pread(r->fd, end, n, (off_t)(r->len - n));
	for (ssize_t i = 0; i < got; i++)
		if (end[i])
			return false;
	return true;
}

/* True: records follow where the log seems to end, so a length is lost, or a piece of the file.  A killed writer leaves
 * part of one record, which nothing follows. */
static bool records_follow(struct log_reader *r)
{
	uint64_t words[1024];
	const size_t head = sizeof(struct log_record) / 8;
	/* what has been written since then was written in order: a length comes last */
	if (r->checked_end && r->checked_end <= r->off)
		return false;
	for (size_t at = r->off + 8; at < r->len;) {
		ssize_t got = pread(r->fd, words, sizeof(words), (off_t)at);
		if (got < (ssize_t)sizeof(struct log_record))
			break;
		size_t n = (size_t)got / 8 - head + 1;
		for (size_t i = 0; i < n; i++) {
			const struct log_record *rec = (const void *)(words + i);
			size_t place = at + i * 8;
			uint32_t crc;
			const void *there = r->base + place;
			if (log_is_short(rec->size) && (log_short_fits(there, rec->size, r->len - place) ||
							log_cycle_fits(there, rec->size, r->len - place)))
				return true;
			if (!rec->size || rec->size % 8 || rec->size < sizeof(*rec) || rec->size > r->len - place ||
			    rec->repeat != ~rec->not_repeat)
				continue;
			rec = (const void *)(r->base + place);
			if (chunks_fit(rec, &crc) && crc == rec->check)
				return true;
		}
		at += n * 8;
	}
	r->checked_end = r->off;
	return false;
}

/* After the head of a bounded log comes the oldest segment that was kept. */
static unsigned next_segment(const struct log_reader *r)
{
	const struct log_segment_header *h = (const void *)r->base;
	unsigned lowest = 0, highest;
	if (r->segment == 0 && h->first_event)
		segments_find(r->dirfd, &lowest, &highest);
	return lowest ? lowest : r->segment + 1;
}

const struct log_record *log_reader_next(struct log_reader *r)
{
	r->error[0] = 0;
	for (;;) {
		size_t left = r->len - r->off;
		if (r->cycle) {
			const struct log_record *again = turn_of_cycle(r);
			if (again)
				return again;
		}
		const struct log_record *rec = (const void *)(r->base + r->off);
		const char *expected;
		uint32_t crc, size = left < 8 || cut(r) ? 0 : __atomic_load_n(&rec->size, __ATOMIC_ACQUIRE);
		if (size == 0 && left && (!ends_in_zeros(r) || records_follow(r))) {
			if (left >= 8 && !cut(r) && __atomic_load_n(&rec->size, __ATOMIC_ACQUIRE))
				continue; /* written while we looked */
			damaged(r, r->off, "a record length");
			return NULL;
		}
		if (size == 0) {
			unsigned next = next_segment(r), lowest, highest;
			const bool more = segment_begun(r->dirfd, next);
			const struct log_record *again = r->cycle ? turn_of_cycle(r) : NULL;
			if (again)
				return again;
			int rc = more ? map_segment(r, next) : -ENOENT;
			if (rc == -ENOENT) {
				segments_find(r->dirfd, &lowest, &highest);
				if (highest == next && !segment_begun(r->dirfd, next))
					return NULL;
				if (highest > r->segment && (rc = map_segment(r, next)) == -ENOENT)
					snprintf(r->error, sizeof(r->error),
						 "log-%06u.seg is missing: expected it before log-%06u.seg", next,
						 highest);
			}
			if (rc == -ENOENT)
				return NULL;
			if (rc) {
				if (!r->error[0])
					snprintf(r->error, sizeof(r->error), "log-%06u.seg: %s", r->segment + 1,
						 strerror(-rc));
				return NULL;
			}
			continue;
		}
		if (r->cycle && size) { /* the cycle does not grow any more */
			const struct log_record *again = turn_of_cycle(r);
			if (again)
				return again;
			r->cycle = 0;
		}
		if (log_is_cycle(size)) {
			if (!begins_cycle(r)) {
				damaged(r, r->off, "a cycle of short records");
				return NULL;
			}
			r->cycle = r->off;
			r->turns = 0;
			r->off += sizeof(struct log_cycle);
			continue;
		}
		if (log_is_short(size) ? log_size(size) % 8 || log_size(size) > left
				       : size < sizeof(*rec) || size % 8 || size > left)
			damaged(r, r->off, "a record length");
		else if (log_is_short(size) && !(rec = expanded(r, r->off, size, &expected)))
			damaged(r, r->off, expected);
		else if (rec->repeat != ~rec->not_repeat)
			damaged(r, r->off, "a repeat count and its complement");
		else if (!log_is_short(size) && !chunks_fit(rec, &crc))
			damaged(r, r->off, "well-formed chunks");
		else if (!log_is_short(size) && rec->check != crc)
			damaged(r, r->off, "a record with a matching checksum");
		else if (LOG_IS_EVENT(rec->kind) && r->counted && rec->event != next_number(r))
			damaged(r, r->off, "the event that follows");
		else {
			r->at = r->off;
			r->bytes = log_size(size);
			r->off += r->bytes;
			if (LOG_IS_EVENT(rec->kind)) {
				r->last = rec;
				r->counted = true;
			}
			return rec;
		}
		return NULL;
	}
}
