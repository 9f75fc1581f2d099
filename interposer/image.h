/* Images: the upper half at one event, in a file `ckpt-NNNNNN.img`.
 *
 * Header, struct upper_state, registers, region table, run table, then page data from a page boundary
 * on.  A region is a mapping and what is below its saved pages: zeros, or a stored file.  A run is a row
 * of saved pages.
 */
#ifndef RDB_IMAGE_H
#define RDB_IMAGE_H
#include "lower.h"

#define RDB_IMAGE_MAGIC 0x676d696264720001ull
#define RDB_IMAGE_VERSION 1

struct image_header {
	uint64_t magic;
	uint32_t version;
	uint32_t number;
	uint64_t event;
	uint64_t log_off; /* where in the log the events after it begin */
	uint32_t log_segment;
	uint32_t nregions;
	uint64_t nruns;
	uint64_t data_off; /* bytes, page-aligned */
	uint64_t data_len;
	uint32_t state_size;   /* sizeof(struct upper_state) */
	uint32_t meta_check;   /* crc32c of [sizeof header, data_off) */
	uint32_t data_check;   /* crc32c of the page data */
	uint32_t header_check; /* crc32c of the bytes before */
};

struct image_registers {
	uint64_t gregs[23];
	uint32_t xsave_len;
	uint32_t reserved;
	uint8_t xsave[8192];
};

struct image_region {
	uint64_t start, end;
	uint64_t offset; /* in the stored file */
	uint32_t prot;
	uint32_t reserved;
	char key[160]; /* stored file below the saved pages; empty: zeros */
};

struct image_run {
	uint64_t addr, len; /* its data follows that of the run before */
};

/* Writes the image of uc's state at lower.event.  0 or -errno; no partial file is left. */
int image_write(unsigned number, const ucontext_t *uc);
/* Maps everything, sets lower.event and lower.upper, opens the log there.  0 or -errno (said on stderr). */
int image_restore(unsigned number);
/* Puts the restored registers into uc. */
void image_registers(ucontext_t *uc);

#endif
