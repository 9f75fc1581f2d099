#include "space/mapping.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/lower.h"
#include "space/arena.h"
#include "space/ends.h"
#include "space/store.h"

#define UP(x) (((x) + RDB_PAGE - 1) & ~(RDB_PAGE - 1))

long memory_map_at(uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset)
{
	return raw_syscall(SYS_mmap, (long)at, (long)len, prot, flags | MAP_FIXED, fd, (long)offset);
}

long memory_map_zero(uint64_t at, size_t len, int prot)
{
	long rc = memory_map_at(at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* a replica is forked often, at a cost per page; failure of madvise only makes that slower */
	if (rc >= 0 && serving())
		raw_syscall(SYS_madvise, (long)at, (long)len, MADV_HUGEPAGE, 0, 0, 0);
	return rc < 0 ? rc : 0;
}

long memory_map_stored(uint64_t at, size_t len, int prot, const char *key, uint64_t offset)
{
	struct stat st;
	int fd = store_open(key);
	if (fd < 0)
		return fd;
	long rc = fstat(fd, &st) ? -errno : 0;
	/* pages beyond the end of the file are replaced by zero memory */
	size_t inside = rc || (uint64_t)st.st_size <= offset ? 0 : UP((uint64_t)st.st_size - offset);
	if (inside > len)
		inside = len;
	if (!rc && inside)
		rc = memory_map_at(at, inside, prot, MAP_PRIVATE, fd, offset);
	if (rc >= 0)
		rc = len > inside ? memory_map_zero(at + inside, len - inside, prot) : 0;
	close(fd);
	if (rc < 0)
		return rc;
	struct file_mapping f = {.start = at, .end = at + len, .offset = offset};
	strncpy(f.key, key, sizeof(f.key) - 1);
	arena_file_mapped(&f);
	if (len > inside && !replaying())
		ends_add(at + inside, at + len, prot);
	return 0;
}
