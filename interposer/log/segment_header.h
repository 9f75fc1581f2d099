/* The header of a segment of the log, and its checksum. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/crc32c.h"
#include "interface/log_format.h"

static inline uint32_t segment_header_sum(const struct log_segment_header *h)
{
	return crc32c(0, h, offsetof(struct log_segment_header, check));
}

static inline bool segment_header_intact(const struct log_segment_header *h)
{
	return h->check == segment_header_sum(h);
}

static inline struct log_segment_header segment_header(unsigned index, uint64_t first_event)
{
	struct log_segment_header h = {
		.magic = RDB_LOG_MAGIC, .version = RDB_LOG_VERSION, .index = index, .first_event = first_event};
	h.check = segment_header_sum(&h);
	return h;
}
