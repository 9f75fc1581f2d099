/* Images are dropped by whole chains, the oldest first, so that no image loses one that it needs; then the
 * segments before the place where the oldest image's log begins. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "image/image.h"
#include "record/keep.h"
#include "log/log_head.h"
#include "base/table.h"

enum { CHAIN = 8, CHAIN_BOUNDED = 4, COORDINATED = 4 /* kept without a log, if --keep is not given */ };

static struct {
	struct table images; /* struct kept, oldest first */
	uint32_t segment;    /* the oldest segment that is kept, apart from the head */
	bool warned;
	bool coordinated;
	unsigned whole, gone_from, gone_until;
} keep;

static unsigned count(void)
{
	return (unsigned)(keep.images.len / sizeof(struct kept));
}

static const struct kept *at(unsigned i)
{
	return (const struct kept *)keep.images.base + i;
}

unsigned keep_chain(void)
{
	const struct limit *l = &lower.opt.keep;
	if (l->unit == LIMIT_NONE)
		return keep.coordinated ? COORDINATED : CHAIN;
	if (l->unit != LIMIT_COUNT)
		return CHAIN_BOUNDED;
	return l->value >= 2 * CHAIN ? CHAIN : (unsigned)(l->value + 1) / 2;
}

unsigned keep_oldest(void)
{
	return count() ? at(0)->number : 0;
}

/* Index of the first image of the second chain; 0: there is only one. */
static unsigned second_chain(void)
{
	for (unsigned i = 1; i < count(); i++)
		if (at(i)->base != at(0)->base)
			return i;
	return 0;
}

/* May all images before index i be dropped? */
static bool droppable(unsigned i, uint64_t bytes, uint64_t now_ns)
{
	const struct limit *l = &lower.opt.keep;
	if (keep.coordinated && at(i)->number > keep.whole)
		return false;
	switch (l->unit) {
	case LIMIT_COUNT: return count() - i >= l->value;
	case LIMIT_SECONDS: return at(i)->at_ns + l->value <= now_ns;
	case LIMIT_BYTES: return bytes > l->value;
	case LIMIT_NONE: return keep.coordinated && count() - i >= COORDINATED;
	}
	return false;
}

static void drop_segments(uint32_t until)
{
	char path[4096];
	for (; keep.segment < until; keep.segment++) {
		if (!keep.segment)
			continue; /* the head has taken its place */
		if ((size_t)snprintf(path, sizeof(path), "%s/log-%06u.seg", lower.opt.dir, keep.segment) < sizeof(path))
			unlink(path);
	}
}

static int drop_before(unsigned i)
{
	char path[4096];
	struct kept first = *at(i);
	if (keep.coordinated) {
		keep.gone_until = first.number;
		keep.images.len -= i * sizeof(struct kept);
		memmove(keep.images.base, at(i), keep.images.len);
		return 0;
	}
	if (first.log_segment) {
		/* the log's new head first: a reader meanwhile finds the old log or the new one */
		int rc = log_head_write(first.event);
		if (rc)
			return rc;
	}
	for (unsigned number = keep_oldest(); number < first.number; number++) {
		image_path(path, sizeof(path), number, "");
		unlink(path);
	}
	drop_segments(first.log_segment);
	keep.images.len -= i * sizeof(struct kept);
	memmove(keep.images.base, at(i), keep.images.len);
	return 0;
}

/* Bytes that the recording takes now: images, and the log from the oldest segment on. */
static uint64_t bytes_kept(uint64_t log_bytes)
{
	uint64_t bytes = log_bytes - at(0)->log_before;
	for (unsigned i = 0; i < count(); i++)
		bytes += at(i)->bytes;
	return bytes;
}

bool keep_add(const struct kept *image, uint64_t log_bytes, uint64_t now_ns)
{
	if (lower.opt.keep.unit == LIMIT_NONE && !keep.coordinated)
		return false;
	const struct kept first = {.bytes = count() ? 0 : image_bytes(0)};
	int rc = count() || keep.coordinated ? 0 : table_add(&keep.images, &first, sizeof(first));
	unsigned next;
	uint64_t bytes = 0;
	if (!rc)
		rc = table_add(&keep.images, image, sizeof(*image));
	while (!rc) {
		bytes = bytes_kept(log_bytes);
		next = second_chain();
		if (!next)
			break;
		if (!droppable(next, bytes, now_ns))
			return false;
		rc = drop_before(next);
	}
	if (rc && !keep.warned) {
		keep.warned = true;
		rdb_warn("%s: old parts of the recording cannot be dropped: %s", lower.opt.dir, strerror(-rc));
	}
	return !rc && lower.opt.keep.unit == LIMIT_BYTES && bytes > lower.opt.keep.value;
}

void keep_coordinated(unsigned whole)
{
	keep.coordinated = true;
	keep.whole = whole;
}

unsigned keep_gone(unsigned *from)
{
	*from = keep.gone_from;
	keep.gone_from = keep.gone_until;
	return keep.gone_until;
}

void keep_forked(void)
{
	table_drop(&keep.images);
	memset(&keep, 0, sizeof(keep));
}
