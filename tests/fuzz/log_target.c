/* Fuzz target: a directory whose only segment is the input is read as a log, each byte of it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "log/log_index.h"
#include "log/log_short.h"
#include "target.h"

/* Checksums that match, as far as the records are well-formed: so that what lies behind them is reached. */
static void mend(uint8_t *data, size_t len)
{
	struct log_segment_header *h = (void *)data;
	if (len < sizeof(*h))
		return;
	h->check = crc32c(0, h, offsetof(struct log_segment_header, check));
	for (size_t at = sizeof(*h); at + sizeof(struct log_short) <= len;) {
		struct log_record *rec = (void *)(data + at);
		if (log_is_short(rec->size) && log_size(rec->size) >= sizeof(struct log_short) &&
		    log_size(rec->size) % 8 == 0 && log_size(rec->size) <= len - at) {
			rec->check = crc32c(0, data + at + 8, log_size(rec->size) - 8);
			at += log_size(rec->size);
			continue;
		}
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > len - at)
			return;
		rec->not_repeat = ~rec->repeat;
		uint8_t *p = (uint8_t *)(log_args(rec) + rec->nargs), *end = data + at + rec->size;
		if (p > end)
			return;
		uint32_t crc = crc32c(0, data + at + 16, (size_t)(p - data) - at - 16);
		while (p < end) {
			struct log_chunk *c = (void *)p;
			if ((size_t)(end - p) < sizeof(*c) ||
			    (((size_t)c->len + 7) & ~7ul) > (size_t)(end - p) - sizeof(*c))
				return;
			size_t padded = ((size_t)c->len + 7) & ~7ul;
			crc = crc32c_data(crc32c(crc, p, sizeof(*c)), p + sizeof(*c), c->len);
			crc = crc32c(crc, p + sizeof(*c) + c->len, padded - c->len);
			p += sizeof(*c) + padded;
		}
		rec->check = crc;
		at += rec->size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char dir[64], path[96];
	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "/dev/shm/rdb-fuzz-%d", getpid());
		target_directory(dir);
		snprintf(path, sizeof(path), "%s/log-000000.seg", dir);
	}
	if (!len)
		return 0;
	uint8_t *copy = target_copy(data + 1, len - 1);
	if (data[0] & 1)
		mend(copy, len - 1);
	target_write(path, copy, len - 1);
	free(copy);

	char error[256];
	struct log_entry *entries;
	size_t count;
	int rc = log_index(dir, &entries, &count, error);
	if (!rc != !error[0])
		abort();
	log_index_free(entries);
	log_index_free((log_index_tail(dir, &entries, &count, error), entries));
	struct log_reader r;
	volatile uint64_t sum = 0;
	uint64_t last = 0;
	if (log_reader_open(&r, dir) == 0) {
		for (const struct log_record *rec; (rec = log_reader_next(&r));) {
			for (unsigned i = 0; i < rec->nargs; i++)
				sum += log_args(rec)[i];
			for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));)
				for (uint32_t i = 0; i < c->len; i++)
					sum += ((const uint8_t *)(c + 1))[i];
			if (LOG_IS_EVENT(rec->kind) && last && rec->event != last)
				abort(); /* an event that does not follow */
			if (LOG_IS_EVENT(rec->kind))
				last = rec->event + rec->repeat + 1;
		}
		log_reader_seek(&r, data[0], len);
		log_reader_next(&r);
		log_reader_close(&r);
	}
	return 0;
}
