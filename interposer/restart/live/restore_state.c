#include "restart/live/restore_state.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "restart/checkpoint/coordinated.h"
#include "restart/checkpoint/kept_signals.h"
#include "restart/base/launcher_fd.h"
#include "restart/live/live.h"
#include "restart/live/live_threads.h"
#include "restart/copies/own_files.h"
#include "restart/files/file_locks.h"
#include "restart/files/open_files.h"
#include "restart/memory/own_shared.h"
#include "restart/process/posix_timers.h"
#include "restart/process/attributes.h"
#include "restart/process/clocks.h"
#include "restart/process/scheduling.h"
#include "restart/sockets/sockets.h"
#include "restart/process/timers.h"
#include "base/crc32c.h"
#include "base/pids.h"
#include "base/private.h"
#include "base/descriptors.h"
#include "space/side_files.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/thread.h"
#include "text/traps.h"

static struct state_head head;
static int state_fd;
static struct posix_timer timers[POSIX_TIMERS];
static struct kept_signal *signals;
static struct state_thread *named; /* the file is closed when the threads run again */

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
		     head.files_len <= len - head.library_len && head.timers_len <= sizeof(timers) &&
		     head.signals_len <= len && p != MAP_FAILED && head.threads_len <= len &&
		     head.scheduling_len <= len && head.shared_len <= len && head.attributes_len <= len &&
		     len == head.library_len + head.files_len + head.timers_len + head.signals_len + head.threads_len +
				     head.scheduling_len + head.attributes_len + head.shared_len;
	if (whole) {
		const uint8_t *bytes = (const uint8_t *)p + sizeof(head);
		struct state_head unchecked = head;
		unchecked.check = 0;
		uint32_t check = crc32c_data(0, &unchecked, sizeof(unchecked));
		check = crc32c_data(check, bytes, head.library_len);
		check = crc32c_data(check, bytes + head.library_len, head.files_len);
		bytes += head.library_len + head.files_len;
		memcpy(timers, bytes, head.timers_len);
		bytes += head.timers_len;
		signals = malloc(head.signals_len + 1);
		if (!signals)
			return -ENOMEM;
		memcpy(signals, bytes, head.signals_len);
		check = crc32c_data(check, timers, head.timers_len);
		check = crc32c_data(check, signals, head.signals_len);
		bytes += head.signals_len;
		check = crc32c_data(check, bytes, head.threads_len);
		bytes += head.threads_len;
		check = crc32c_data(check, bytes, head.scheduling_len);
		const uint8_t *settings = bytes + head.scheduling_len;
		check = crc32c_data(check, settings, head.attributes_len);
		whole = crc32c_data(check, settings + head.attributes_len, head.shared_len) == head.check &&
			scheduling_from(bytes, head.scheduling_len) && attributes_from(settings, head.attributes_len);
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

int restore_state_check(unsigned number)
{
	char path[4096];
	int rc;
	if ((size_t)snprintf(path, sizeof(path), "%s/state-%u", lower.opt.dir, number) >= sizeof(path))
		return -ENAMETOOLONG;
	rc = check_state(path);
	snprintf(path, sizeof(path), "was-%u-", number);
	const char *why = rc ? NULL : side_files_damaged(lower.opt.dir, path);
	if (why)
		rdb_warn("%s", why);
	return why ? -EBADMSG : rc;
}

int restore_state_prepare(unsigned number)
{
	int rc = restore_state_check(number);
	if (rc || !head.library_len)
		return rc;
	void *bytes = malloc(head.library_len);
	if (!bytes || pread(state_fd, bytes, head.library_len, sizeof(head)) != (ssize_t)head.library_len)
		return -EIO;
	launcher_fd_hide();
	/* the program's numbers are not the library's */
	rc = descriptors_reserve();
	if (rc)
		return rc;
	const char *why = host_coordinated_load(bytes, head.library_len);
	free(bytes);
	if (why) {
		rdb_warn("rank %d cannot be restarted from checkpoint %u: %s", lower.opt.rank, number, why);
		return -EPROTO;
	}
	return 0;
}

/* Each thread stands where it was halted: sets how long it had waited there, and what its call had done. */
static void threads_waited(void)
{
	struct state_thread one;
	unsigned n = 0;
	named = malloc(head.threads_len + 1);
	if (!named)
		live_refuse("out of memory");
	off_t at = (off_t)(sizeof(head) + head.library_len + head.files_len + head.timers_len + head.signals_len);
	for (const off_t end = at + (off_t)head.threads_len; at < end; at += (off_t)sizeof(one)) {
		struct thread *t = NULL;
		if (pread(state_fd, &one, sizeof(one), at) == (ssize_t)sizeof(one))
			t = threads_find(one.number);
		if (!t)
			live_refuse("its threads are not those of the checkpoint");
		if (t != thread_self())
			thread_unwind(t);
		named[n++] = one;
		t->waited_ns = one.waited_ns;
		t->done = one.done;
		t->processor_ahead = one.processor_ns;
	}
}

static void name_threads(void)
{
	for (const struct state_thread *one = named; one < named + head.threads_len / sizeof(*named); one++) {
		const struct thread *t = threads_find(one->number);
		if (t)
			live_thread_named(t, one->name);
	}
}

static void map_shared(void)
{
	struct stat st;
	if (!head.shared_len)
		return;
	void *p = fstat(state_fd, &st) ? MAP_FAILED
				       : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, state_fd, 0);
	if (p == MAP_FAILED)
		live_refuse("its shared memory cannot be read: %s", strerror(errno));
	const int rc = own_shared_from((const uint8_t *)p + (uint64_t)st.st_size - head.shared_len, head.shared_len);
	munmap(p, (size_t)st.st_size);
	if (rc)
		live_refuse("its shared memory cannot be made again: %s", strerror(-rc));
}

static void signals_again(void)
{
	for (unsigned i = 0; i < head.signals_len / sizeof(signals[0]); i++) {
		struct kept_signal *one = &signals[i];
		siginfo_t *info = &one->info;
		struct thread *t = one->thread == SIGNAL_FOR_ANY ? NULL : threads_find(one->thread);
		if (one->thread != SIGNAL_FOR_ANY && !t)
			live_refuse("its threads are not those of the checkpoint");
		if (one->in_kernel)
			kept_signal_to_kernel(one);
		else
			signal_keep(info->si_signo, info, t);
	}
}

/* This directory says that the changes are noted from the start, and which files are not the real ones. */
static void undo_begins(void)
{
	char dir[4096], own_path[4096 + 16];
	if (!lower.opt.undo)
		return;
	snprintf(dir, sizeof(dir), "%s/undo-0", lower.opt.branch);
	snprintf(own_path, sizeof(own_path), "%s/own", dir);
	int rc = private_mkdir(dir);
	if (!rc && !lower.opt.in_place)
		rc = own_list(own_path);
	if (rc)
		live_refuse("%s: %s", dir, strerror(-rc));
}

/* The session and the group that the process has made; of the other processes it goes on to know the numbers. */
static void relations_again(void)
{
	const int32_t parent = (int32_t)raw_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);
	attributes_relations();
	const int32_t session = (int32_t)raw_syscall(SYS_getsid, 0, 0, 0, 0, 0, 0);
	const int32_t group = (int32_t)raw_syscall(SYS_getpgid, 0, 0, 0, 0, 0, 0);
	pids()->parent = (struct pid_pair){head.parent, parent};
	pids()->group = (struct pid_pair){head.group, group};
	pids()->session = (struct pid_pair){head.session, session};
}

void restore_state(ucontext_t *uc)
{
	map_shared();
	clocks_from(&head.clocks);
	threads_waited();
	posix_timers_from(timers, (unsigned)(head.timers_len / sizeof(timers[0])));
	if (lseek(state_fd, (off_t)(sizeof(head) + head.library_len), SEEK_SET) < 0)
		live_refuse("its open files cannot be read from the checkpoint: %s", strerror(errno));
	open_files_from(state_fd);
	later_files_load();
	timers_from(head.timers);
	if (lower.opt.mode_after->records) { /* for restarts of that recording */
		timers_save(0);
		posix_timers_save(0);
		open_files_save();
		scheduling_save();
	}
	sockets_restore();
	open_files_restore();
	file_locks_restore();
	live_threads_carried();
	name_threads();
	undo_begins();
	live_as_branch(uc, lower.opt.mode_after);
	relations_again();
	side_files_whole(lower.opt.branch);
	signals_again();
	if (coordinating())
		coordinated_begin();
	if (recording())
		boundary_begin(uc);
	else
		traps_set(true);
	scheduling_restore();
	attributes_restore();
	live_threads_begin(uc);
	signals_want_delivery(uc);
}
