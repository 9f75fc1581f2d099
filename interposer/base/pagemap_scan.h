/* PAGEMAP_SCAN of linux/fs.h (Linux 6.7), missing in Debian 12's headers. */
#pragma once
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include "arch/syscall.h"

struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct scan_region { /* linux/fs.h: struct page_region */
	uint64_t start, end, categories;
};
#define SCAN _IOWR('f', 16, struct scan)
enum { SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4 }; /* PAGE_IS_* */

/* The first address from `at` on, below `end`, whose page is present or swapped; end: there is none.  An older kernel
 * does not say: then it is `at`.  `pagemap` is /proc/self/pagemap.  AddressSanitizer maps 14 TiB and touches few. */
static inline uint64_t pagemap_next(int pagemap, uint64_t at, uint64_t end)
{
	struct scan_region found;
	struct scan scan = {
		.size = sizeof(scan),
		.start = at,
		.end = end,
		.vec = (uint64_t)&found,
		.vec_len = 1,
		.max_pages = 1,
		.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
		.return_mask = SCAN_PRESENT | SCAN_SWAPPED,
	};
	const long n = raw_syscall(SYS_ioctl, pagemap, (long)SCAN, (long)&scan, 0, 0, 0);
	return n < 0 ? at : n ? found.start : scan.walk_end;
}
