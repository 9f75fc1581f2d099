/* --keep: drops old images and log segments while a recording goes on. */
#pragma once
#include "base/lower.h"

/* An image that is finished. */
struct kept {
	uint32_t number, base; /* base: the full image its chain begins with */
	uint32_t log_segment;
	uint32_t reserved;
	uint64_t event, at_ns, bytes;
	uint64_t log_before; /* bytes of the log before that segment */
};

/* How many images a chain has at most. */
unsigned keep_chain(void);
/* Adds the newest image, and drops what is not to be kept any more.  `log_bytes`: of the log so far; `now_ns`: of the
 * clock of at_ns.  True: the next image should be a full one, or nothing can ever be dropped. */
bool keep_add(const struct kept *image, uint64_t log_bytes, uint64_t now_ns);
/* Number of the oldest image that is kept. */
unsigned keep_oldest(void);
/* Without a log an image is dropped with the files beside it, and only when all ranks have a newer one; `whole` is the
 * newest that all have.  The caller of keep_gone() removes the numbers from `*from` on, up to but not including the
 * result. */
void keep_coordinated(unsigned whole);
unsigned keep_gone(unsigned *from);
void keep_forked(void);
