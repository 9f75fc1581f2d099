#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "boundary/boundary.h"
#include "boundary/hot_sites.h"
#include "boundary/hot_stubs.h"
#include "live/coordinated.h"
#include "live/live.h"
#include "live/open_files.h"
#include "live/timers.h"
#include "log/crc32c.h"
#include "log/log_writer.h"
#include "process/descriptors.h"
#include "process/meta.h"
#include "signals/signals.h"
#include "threads/thread.h"

static struct state_head head;
static int state_fd;

static int check_state(const char *path)
{
	struct stat st;
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0 || fstat(fd, &st) || read(fd, &head, sizeof(head)) != (ssize_t)sizeof(head)) {
		rdb_warn("%s: %s", path, fd < 0 ? strerror(-fd) : "it is damaged: expected a header at offset 0");
		return -EBADMSG;
	}
	if (head.magic == STATE_MAGIC && head.version != STATE_VERSION) {
		rdb_warn("%s: state v%u, this rdb reads v%u", path, head.version, STATE_VERSION);
		return -EPROTO;
	}
	uint64_t len = (uint64_t)st.st_size - sizeof(head);
	void *p = len ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	bool whole = head.magic == STATE_MAGIC && head.number == lower.opt.checkpoint && head.library_len <= len &&
		     head.files_len == len - head.library_len && p != MAP_FAILED;
	if (whole) {
		const uint8_t *bytes = (const uint8_t *)p + sizeof(head);
		uint32_t check = crc32c_data(0, bytes, head.library_len);
		whole = crc32c_data(check, bytes + head.library_len, head.files_len) == head.check;
	}
	if (!whole) {
		rdb_warn("%s: it is damaged: expected bytes with a matching checksum at offset %zu", path,
			 sizeof(head));
		return -EBADMSG;
	}
	munmap(p, (size_t)st.st_size);
	state_fd = lower_fd(fd);
	return state_fd < 0 ? state_fd : 0;
}

int thaw_prepare(unsigned number)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/state-%u", lower.opt.restart, number) >= sizeof(path))
		return -ENAMETOOLONG;
	int rc = check_state(path);
	if (rc || !head.library_len)
		return rc;
	void *bytes = malloc(head.library_len);
	if (!bytes || pread(state_fd, bytes, head.library_len, sizeof(head)) != (ssize_t)head.library_len)
		return -EIO;
	live_keep_launcher();
	/* the program's numbers are not the library's */
	rc = descriptors_reserve();
	if (rc)
		return rc;
	const char *why = host_together_load(bytes, head.library_len);
	free(bytes);
	if (why) {
		rdb_warn("rank %d cannot be restarted from checkpoint %u: %s", lower.opt.rank, number, why);
		return -EPROTO;
	}
	return 0;
}

void thaw(ucontext_t *uc)
{
	if (lseek(state_fd, (off_t)(sizeof(head) + head.library_len), SEEK_SET) < 0)
		live_refuse("its open files cannot be read: %s", strerror(errno));
	open_files_from(state_fd);
	timers_from(head.timers);
	open_files_restore();
	live_as_branch(uc, lower.opt.mode_after);
	for (int sig = 1; sig <= 64; sig++)
		if (head.pending >> (sig - 1) & 1)
			raw_syscall(SYS_kill, lower.pid, sig, 0, 0, 0, 0);
	if (lower.opt.checkpoints_only)
		coordinated_begin();
	if (lower.mode == MODE_RECORD)
		boundary_begin(uc);
	else if (lower.upper.tsc_mode)
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}
