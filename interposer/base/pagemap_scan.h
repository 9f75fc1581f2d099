/* PAGEMAP_SCAN of linux/fs.h (Linux 6.7), missing in Debian 12's headers. */
#ifndef RDB_PAGEMAP_SCAN_H
#define RDB_PAGEMAP_SCAN_H
#include <stdint.h>
#include <sys/ioctl.h>

struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan)

#endif
