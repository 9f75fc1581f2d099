/* Images: the upper half at one event, in a file `ckpt-NNNNNN.img`.
 *
 * A header, then four tables (its sections), then, from a page boundary on, page data.  A region is a mapping and what
 * lies below its saved pages: zeros, or a stored file.  A run is a row of saved pages.  The run table is complete:
 * pages unchanged since an earlier image are runs, too, which name that image and leave the data there.  So the run
 * tables of other images are needed only to find the data.  A page in no run is as the region has it.  Regions and runs
 * are in order of address.
 *
 * Data is raw, at page boundaries, so it can be mapped.  It may be compressed with lz4 (block format) in older images and
 * in those of jobs without a log, which no replay maps.
 */
#pragma once
#include "base/thread.h"

#define RDB_IMAGE_MAGIC 0x676d696264720001ull
#define RDB_IMAGE_VERSION 5

enum image_section_kind {
	IMAGE_STATE,   /* struct upper_state */
	IMAGE_THREADS, /* struct image_thread */
	IMAGE_REGIONS, /* struct image_region */
	IMAGE_RUNS,    /* struct image_run */
	IMAGE_SECTIONS,
};

struct image_section {
	uint64_t off, len;
	uint32_t count;
	uint32_t check; /* crc32c */
};

struct image_header {
	uint64_t magic;
	uint32_t version;
	uint32_t number;
	uint64_t event;
	uint64_t log_off; /* position in the log of the events after it */
	uint32_t log_segment;
	uint32_t base;        /* oldest image that its runs may name: the full image at the start of its chain */
	uint32_t state_size;  /* sizeof(struct upper_state) */
	uint32_t thread_size; /* sizeof(struct image_thread) */
	uint64_t file_len;
	struct image_section sections[IMAGE_SECTIONS];
	uint32_t reserved;
	uint32_t header_check; /* crc32c of the bytes before */
};

struct image_thread {
	struct upper_thread upper;
	uint32_t state;        /* enum thread_state; a thread that asks is before its call and repeats it */
	uint32_t processor_ms; /* processor time, as the program knows it */
	struct context context;
};

enum image_shared {
	IMAGE_PRIVATE,
	IMAGE_SHARED,
	IMAGE_FOLLOWS, /* private, but pages that are not `own` in their run change with the file */
};

struct image_region {
	uint64_t start, end;
	uint64_t offset; /* in the stored file */
	uint32_t prot;
	uint32_t shared;                  /* enum image_shared */
	uint64_t dev, ino, object_offset; /* the object that it shows, if shared (space/aliases.h) */
	char key[160];                    /* stored file below the saved pages; empty: zeros */
};

enum { IMAGE_RUN_MAX = 4 << 20 }; /* bytes of a run that has data of its own */

struct image_run {
	uint64_t addr, len;
	uint32_t image;  /* image with the data; for another image the fields below are unset */
	uint32_t stored; /* bytes in the file: len, or fewer if compressed */
	uint64_t off;    /* in the file */
	uint32_t check;  /* crc32c_data of the stored bytes */
	uint32_t own;    /* in a region that follows: 1, the program had stored here */
};
