/* Images: the upper half at one event, in a file `ckpt-NNNNNN.img`.
 *
 * A header, then four tables (its sections), then, from a page boundary on, the data of pages.  A region is
 * a mapping and what is below its saved pages: zeros, or a stored file.  A run is a row of saved pages.  The
 * run table is complete: pages that have not changed since an earlier image are runs too, which name that
 * image and leave the data there; so an image needs no other one's run table but to find data.  What is in
 * no run is as the region has it.  Regions and runs are in order of their addresses.
 *
 * Data is raw, at page boundaries, to be mapped; or, in older images, compressed with lz4 (block format).
 */
#ifndef RDB_IMAGE_FORMAT_H
#define RDB_IMAGE_FORMAT_H
#include "task/thread.h"

#define RDB_IMAGE_MAGIC 0x676d696264720001ull
#define RDB_IMAGE_VERSION 3

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
	uint64_t log_off; /* where in the log the events after it begin */
	uint32_t log_segment;
	uint32_t base;        /* number of the oldest image that its runs may name: the full one its chain began with */
	uint32_t state_size;  /* sizeof(struct upper_state) */
	uint32_t thread_size; /* sizeof(struct image_thread) */
	uint64_t file_len;
	struct image_section sections[IMAGE_SECTIONS];
	uint32_t reserved;
	uint32_t header_check; /* crc32c of the bytes before */
};

struct image_thread {
	struct upper_thread upper;
	uint32_t state; /* enum thread_state; who asks stands before its call and makes it again */
	uint32_t reserved;
	struct context context;
};

enum image_shared {
	IMAGE_PRIVATE,
	IMAGE_SHARED,
	IMAGE_FOLLOWS, /* private, but pages that are not IMAGE_OWN change with their file */
};

struct image_region {
	uint64_t start, end;
	uint64_t offset; /* in the stored file */
	uint32_t prot;
	uint32_t shared;                  /* enum image_shared */
	uint64_t dev, ino, object_offset; /* of what it shows then (space/aliases.h) */
	char key[160];                    /* stored file below the saved pages; empty: zeros */
};

enum { IMAGE_RUN_MAX = 4 << 20 }; /* bytes of a run that has data of its own */

struct image_run {
	uint64_t addr, len;
	uint32_t image;  /* whose file has the data; of another one's nothing below is known here */
	uint32_t stored; /* bytes in the file: len, or fewer if compressed */
	uint64_t off;    /* in the file */
	uint32_t check;  /* crc32c_data of the stored bytes */
	uint32_t own;    /* of a region that follows: 1, the program had stored here */
};

#endif
