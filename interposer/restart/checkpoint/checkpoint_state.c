#include "restart/checkpoint/checkpoint_state.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "base/table.h"
#include "record/checkpoints.h"
#include "image/image.h"
#include "restart/checkpoint/undo_drop.h"
#include "restart/checkpoint/board.h"
#include "restart/copies/own_table.h"
#include "restart/checkpoint/coordinated.h"
#include "restart/files/kernel_files.h"
#include "restart/checkpoint/kept_signals.h"
#include "restart/sockets/kernel_sockets.h"
#include "restart/base/open_table.h"
#include "restart/memory/own_shared.h"
#include "restart/process/attributes.h"
#include "restart/process/scheduling.h"
#include "base/crc32c.h"
#include "base/pids.h"
#include "record/keep.h"
#include "base/io.h"
#include "base/private_file.h"
#include "task/halt.h"
#include "task/thread.h"

static struct {
	struct board *board;
	struct board_slot *slot;
	struct table library, files, threads, scheduling, attributes, shared;
	struct kept_signals kept;
	struct state_head head;
} own;

static int write_state(unsigned number)
{
	char path[4096], temp[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/state-%u", lower.opt.dir, number) >= sizeof(path) ||
	    (size_t)snprintf(temp, sizeof(temp), "%s.part", path) >= sizeof(temp))
		return -ENAMETOOLONG;
	int fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return fd;
	const struct {
		const void *base;
		uint64_t len;
	} parts[] = {
		{&own.head, sizeof(own.head)},
		{own.library.base, own.library.len},
		{own.files.base, own.files.len},
		{own.kept.timers, own.head.timers_len},
		{own.kept.signals.base, own.head.signals_len},
		{own.threads.base, own.threads.len},
		{own.scheduling.base, own.scheduling.len},
		{own.attributes.base, own.attributes.len},
		{own.shared.base, own.shared.len},
	};
	uint64_t at = 0;
	int rc = 0;
	for (size_t i = 0; !rc && i < sizeof(parts) / sizeof(parts[0]); at += parts[i++].len)
		rc = io_write_all(fd, parts[i].base, parts[i].len, at, 1 << 20);
	return private_publish(fd, rc, temp, path);
}

/* Writes the file that makes the checkpoint valid: done by the rank whose files are whole last.  0 or -errno. */
static int commit(uint64_t generation)
{
	if (own.board->relayed)
		return 0; /* the relay that decides commits */
	char path[4096], temp[4096], text[128];
	for (unsigned rank = 0; rank < own.board->nranks; rank++)
		if (__atomic_load_n(&board_slot(own.board, rank)->written, __ATOMIC_SEQ_CST) < generation ||
		    __atomic_load_n(&board_slot(own.board, rank)->failed, __ATOMIC_SEQ_CST) >= generation)
			return 0;
	const char *slash = strrchr(lower.opt.board, '/');
	int len = slash ? (int)(slash - lower.opt.board) : 0;
	snprintf(path, sizeof(path), "%.*s/commit-%lu", len, lower.opt.board, (unsigned long)generation);
	snprintf(temp, sizeof(temp), "%.*s/.commit-%lu-%d", len, lower.opt.board, (unsigned long)generation,
		 lower.opt.rank);
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	int n = snprintf(text, sizeof(text), "{\"number\": %lu, \"ranks\": %u, \"at_ns\": %lu",
			 (unsigned long)generation, own.board->nranks,
			 (unsigned long)ts.tv_sec * 1000000000ul + (unsigned long)ts.tv_nsec);
	n += snprintf(text + n, sizeof(text) - (size_t)n, ", \"crc32c\": \"%08x\"}\n", crc32c(0, text, (size_t)n));
	int fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	int rc = fd < 0 ? fd : io_write_all(fd, text, (size_t)n, 0, 4096);
	rc = private_publish(fd, rc, temp, path);
	if (!rc)
		__atomic_store_n(&own.board->committed, generation, __ATOMIC_SEQ_CST);
	return rc;
}

/* Removes older checkpoints that are not kept: first the file that makes each valid. */
static void remove_gone(void)
{
	char path[4096];
	unsigned number, until = keep_gone(&number);
	for (; number < until; number++) {
		const char *slash = strrchr(lower.opt.board, '/');
		snprintf(path, sizeof(path), "%.*s/commit-%u", slash ? (int)(slash - lower.opt.board) : 0,
			 lower.opt.board, number);
		unlink(path);
		snprintf(path, sizeof(path), "%s/state-%u", lower.opt.dir, number);
		unlink(path);
		image_path(path, sizeof(path), number, "");
		unlink(path);
		static_assert((int)OPENED <= (int)BOARD_FILES_FROM, "they have the same names");
		for (unsigned file = 0; file < (unsigned)BOARD_FILES_FROM + BOARD_FILES; file++) {
			snprintf(path, sizeof(path), "%s/was-%u-%u", lower.opt.dir, number, file);
			unlink(path);
		}
		undo_drop(number);
	}
}

static int sync_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	int rc = fsync(fd) ? -errno : 0;
	close(fd);
	return rc;
}

/* Ranks of other hosts drop older checkpoints when they hear that ours is whole, so it must outlive a failure of this
 * host. */
static int sync_parts(unsigned number)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/state-%u", lower.opt.dir, number);
	int rc = sync_path(path, O_RDONLY);
	image_path(path, sizeof(path), number, "");
	if (!rc)
		rc = sync_path(path, O_RDONLY);
	for (unsigned file = 0; !rc && file < (unsigned)BOARD_FILES_FROM + BOARD_FILES; file++) {
		snprintf(path, sizeof(path), "%s/was-%u-%u", lower.opt.dir, number, file);
		rc = sync_path(path, O_RDONLY);
	}
	if (!rc) { /* the log, which says what the program is */
		snprintf(path, sizeof(path), "%s/log-000000.seg", lower.opt.dir);
		rc = sync_path(path, O_RDONLY);
	}
	return rc ? rc : sync_path(lower.opt.dir, O_RDONLY | O_DIRECTORY);
}

/* What a restart must know of files by their names: which are open for writing, and which a branch has for itself. */
static int write_names(unsigned number)
{
	char dir[4096], path[4096 + 16], own_path[4096 + 16];
	snprintf(dir, sizeof(dir), "%s/undo-%u", lower.opt.dir, number);
	snprintf(path, sizeof(path), "%s/written", dir);
	int rc = private_mkdir(dir);
	if (!rc)
		rc = kernel_files_list(path);
	snprintf(own_path, sizeof(own_path), "%s/own", dir);
	return rc ? rc : own_list(own_path);
}

/* Runs in the forked child, when the image is written. */
static int beside(unsigned number, int rc)
{
	remove_gone();
	if (!rc)
		rc = write_names(number);
	if (!rc)
		rc = write_state(number);
	if (!rc && own.board->relayed)
		rc = sync_parts(number);
	if (!rc) {
		__atomic_store_n(&own.slot->written, number, __ATOMIC_SEQ_CST);
		rc = commit(number);
	}
	if (rc)
		__atomic_store_n(&own.slot->failed, number, __ATOMIC_SEQ_CST);
	return rc;
}

/* proc(5), /proc/pid/task/tid/comm */
static void name_of(const struct thread *t, char name[16])
{
	char path[64], text[32];
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", t->carrier);
	descriptor_text(path, text, sizeof(text));
	text[strcspn(text, "\n")] = 0;
	snprintf(name, 16, "%.15s", text);
}

static int gather_threads(void)
{
	int rc = 0;
	for (const struct thread *t = threads_first(); t && !rc; t = t->next) {
		struct state_thread one = {.number = t->upper.number,
					   .waited_ns = halt_waited_ns(t),
					   .processor_ns = thread_processor_ns(t),
					   .done = t->state == THREAD_ASKS ? t->asked_done : 0};
		name_of(t, one.name);
		rc = table_add(&own.threads, &one, sizeof(one));
	}
	return rc;
}

static int gather(unsigned number)
{
	own.library.len = own.files.len = own.threads.len = own.scheduling.len = own.attributes.len = 0;
	own.shared.len = 0;
	memset(&own.head, 0, sizeof(own.head));
	int rc = host_coordinated_save(&own.library);
	if (!rc)
		rc = gather_threads();
	if (!rc)
		rc = scheduling_look(&own.scheduling);
	if (!rc)
		rc = attributes_look(&own.attributes);
	if (!rc)
		rc = own_shared_look(&own.shared);
	if (rc)
		return rc;
	const char *why = kernel_files_save(&own.files, number);
	if (why) {
		rdb_warn("rank %d: checkpoint %u: %s", lower.opt.rank, number, why);
		return -EIO;
	}
	clocks_look(&own.head.clocks);
	own.head.magic = STATE_MAGIC;
	own.head.version = STATE_VERSION;
	own.head.number = number;
	own.head.sockets = kernel_sockets_count();
	own.head.library_len = own.library.len;
	own.head.files_len = own.files.len;
	own.head.threads_len = own.threads.len;
	own.head.scheduling_len = own.scheduling.len;
	own.head.attributes_len = own.attributes.len;
	own.head.shared_len = own.shared.len;
	own.head.parent = pid_parent_known((int32_t)raw_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0));
	own.head.group = pid_group_known((int32_t)raw_syscall(SYS_getpgid, 0, 0, 0, 0, 0, 0));
	own.head.session = pid_session_known((int32_t)raw_syscall(SYS_getsid, 0, 0, 0, 0, 0, 0));
	rc = kept_signals_look(&own.head, &own.kept);
	if (rc)
		return rc;
	own.head.check = 0;
	uint32_t check = crc32c_data(0, &own.head, sizeof(own.head));
	check = crc32c_data(check, own.library.base, own.library.len);
	check = crc32c_data(check, own.files.base, own.files.len);
	check = crc32c_data(check, own.kept.timers, own.head.timers_len);
	check = crc32c_data(check, own.kept.signals.base, own.head.signals_len);
	check = crc32c_data(check, own.threads.base, own.threads.len);
	check = crc32c_data(check, own.scheduling.base, own.scheduling.len);
	check = crc32c_data(check, own.attributes.base, own.attributes.len);
	own.head.check = crc32c_data(check, own.shared.base, own.shared.len);
	return 0;
}

int checkpoint_state_take(struct board *b, const ucontext_t *uc, uint64_t generation)
{
	static ucontext_t before_call;
	own.board = b;
	own.slot = board_slot(b, (unsigned)lower.opt.board_rank);
	if (!uc) {
		thread_context(thread_self(), &before_call);
		uc = &before_call;
	}
	int rc = gather((unsigned)generation);
	keep_coordinated((unsigned)__atomic_load_n(&own.board->committed, __ATOMIC_ACQUIRE));
	if (!rc)
		rc = checkpoint_coordinated(uc, (unsigned)generation, beside);
	table_drop(&own.shared); /* the child has a copy */
	unsigned gone;
	keep_gone(&gone); /* the child removes them */
	if (rc < 0) {
		rdb_warn("rank %d: checkpoint %lu could not be taken: %s", lower.opt.rank, (unsigned long)generation,
			 strerror(-rc));
		__atomic_store_n(&own.slot->failed, generation, __ATOMIC_SEQ_CST);
	}
	return rc > 0 ? rc : 0;
}
