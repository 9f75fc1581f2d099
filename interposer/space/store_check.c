#include "space/store_check.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/fnv.h"
#include "base/lower.h"
#include "log/file_sum.h"

/* The most bytes that are read for checks when a user waits for the first prompt: a replay with the wrong library soon
 * diverges anyway. `rdb replay`, `rdb restart` and `rdb pack` read all. */
#define BEFORE_A_PROMPT (64ull << 20)

enum { CHECKED = 4096 /* a power of two; with more files some are read again */ };

static bool first_time(const char *key)
{
	static uint64_t checked[CHECKED];
	const uint64_t hash = fnv1a(FNV_BEGIN, key, strlen(key));
	if (checked[hash % CHECKED] == hash)
		return false;
	checked[hash % CHECKED] = hash;
	return true;
}

int store_check(int fd, const char *key)
{
	static uint64_t read_so_far;
	struct file_sum expected, found;
	struct stat st;
	char text[1024];
	if (!replaying() || lower.opt.checked || !file_sum_of_key(key, &expected) || !first_time(key))
		return 0;
	if (fstat(fd, &st))
		return -errno;
	const bool all = verifying() && !lower.opt.restart;
	if ((uint64_t)st.st_size == expected.size && !all) {
		if (expected.size > BEFORE_A_PROMPT - read_so_far)
			return 0;
		read_so_far += expected.size;
	}
	const int rc = file_sum(fd, &found);
	if (rc || (found.size == expected.size && found.crc == expected.crc))
		return rc;
	snprintf(text, sizeof(text),
		 "%s/%s is not what was recorded: expected %lu bytes, CRC-32C %08x, found %lu bytes, %08x; put it back "
		 "from a copy or a pack of the job, or record again",
		 lower.opt.files_dir, key, (unsigned long)expected.size, expected.crc, (unsigned long)found.size,
		 found.crc);
	if (lower.started)
		lower.mode->damaged(text);
	rdb_warn("%s", text);
	return -EBADMSG;
}
