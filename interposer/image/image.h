/* Writing and restoring images (image_format.h). */
#pragma once
#include "image/image_format.h"
#include "base/table.h"

/* What an image is written from: collected where the program stands; the image is written there or by a forked
 * child. */
struct image_plan {
	uint32_t number;
	bool packed;         /* compressed as it is written: nothing will map it */
	bool incremental;    /* pages that are not in `dirty`, or that are unchanged, stay in `number` - 1 */
	struct table *dirty; /* struct dirty_range, in order; NULL: written pages are not known */
	uint32_t log_segment;
	uint64_t log_off;
	struct table threads; /* struct image_thread */
};

/* Threads belong to a higher layer; main() sets this table. */
extern const struct image_threads {
	/* Appends what an image keeps of all threads; uc: registers of the running one. 0 or -errno. */
	int (*take)(struct table *t, const ucontext_t *uc);
	/* Makes the threads; *running: registers of the thread that is the caller. 0 or -errno. */
	int (*put)(const struct image_thread *t, unsigned count, struct context *running);
} * image_threads;
/* Writes the image of lower.event; `forked`: in a child that may ruin its memory map. 0 or -errno; no partial file is
 * left. -ESTALE: the image before is not usable any more. */
int image_write(const struct image_plan *plan, bool forked);
/* Writes image 0 at once. 0 or -errno. */
int image_write_first(const ucontext_t *uc);
/* Compresses an image's data where that saves a quarter; a temporary file replaces the image.  0 or -errno. */
int image_compress(unsigned number);

/* Maps everything, sets lower.event and lower.upper, and returns the position in the log. 0 or -errno (said on
 * stderr). */
int image_restore(unsigned number, bool check_pages, uint32_t *segment, uint64_t *off);
/* Checks an image and all images that it refers to. 0 or -errno (said on stderr). */
int image_check(unsigned number);
/* Puts the restored registers into uc. */
void image_registers(ucontext_t *uc);

/* An image file, its header and tables mapped and checked. */
struct image_file {
	int fd;
	char path[4096];
	const uint8_t *map; /* header and tables */
	const struct image_header *header;
	const struct image_region *regions;
	const struct image_run *runs;
	uint64_t nregions, nruns;
	size_t map_len;
};

/* Opens and checks an image. say: reports errors on stderr, damage with file and offset. 0 or -errno. */
int image_open(struct image_file *f, unsigned number, bool say);
void image_close(struct image_file *f);
/* Index of the first run that ends after addr; nruns if there is none. */
uint64_t image_find(const struct image_file *f, uint64_t addr);
/* Checks the data of all its own runs. 0 or -errno (said). */
int image_check_pages(const struct image_file *f);
void image_path(char *path, size_t size, unsigned number, const char *suffix);
/* Disk space of a finished image, in bytes. */
uint64_t image_bytes(unsigned number);
/* The lowest and the highest number of an image in the rank's directory; -ENOENT: none. */
int image_numbers(unsigned *lowest, unsigned *highest);
