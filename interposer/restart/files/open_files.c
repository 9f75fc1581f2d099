#include "restart/files/open_files.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>
#include "answer/process.h"
#include "base/user.h"
#include "restart/base/cut.h"
#include "restart/files/fd_paths.h"
#include "restart/files/moves.h"
#include "restart/copies/mapped_files.h"
#include "restart/copies/own_attributes.h"
#include "restart/copies/own_files.h"
#include "restart/sockets/sockets.h"
#include "restart/base/streams.h"
#include "restart/base/tree_fds.h"
#include "restart/process/timerfds.h"
#include "restart/copies/written_copies.h"
#include "mpi/window_plan.h"
#include "replay/replay.h"
#include "task/thread.h"

#ifndef MFD_NOEXEC_SEAL /* linux/memfd.h and linux/fcntl.h, Linux 6.3 */
#define MFD_NOEXEC_SEAL 8U
#define F_SEAL_EXEC 0x20
#endif

#define A(i) (ev->args[i])

/* A file without a name: O_TMPFILE of open(2), memfd_create(2). */
static struct opened *put_nameless(const struct event *ev, unsigned flags, bool cloexec)
{
	struct opened *f = open_make(FILE_WRITTEN, flags);
	f->call = ev->nr;
	strcpy(f->path, "nameless"); /* of its copy */
	copy_new(f);
	*f->path = 0;
	open_put(ev->result, f, cloexec);
	return f;
}

static void opened(const struct event *ev, int dirfd, const char *path, unsigned flags)
{
	char full[4096];
	struct stat st;
	size_t len = 0;
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		put_nameless(ev, flags & ~(unsigned)O_TMPFILE, flags & O_CLOEXEC);
		return;
	}
	if (fd_path_opened(ev, fd_path(path), flags, &path))
		return;
	open_whole_path(dirfd, path, full, true); /* a missing directory counts only if the file is open at the cut */
	bool there = stat(full, &st) == 0, written = (flags & O_ACCMODE) != O_RDONLY;
	written &= strncmp(full, WINDOW_FILES, strlen(WINDOW_FILES)) != 0; /* shared memory is handled elsewhere */
	struct opened *f = open_make(written && !(there && !S_ISREG(st.st_mode)) ? FILE_WRITTEN : FILE_READ, flags);
	if (!strncmp(full, "/proc/", 6) || !strncmp(full, "/dev/pts/", 9) || !strcmp(full, "/dev/ptmx")) {
		f->kind = OTHER;
		f->call = ev->nr;
	}
	const struct rdb_note_pipe *pipe = log_note(replay_record(), RDB_NOTE_PIPE, &len);
	if ((pipe && pipe->named) || (there && S_ISFIFO(st.st_mode)))
		f->kind = FIFO;
	len = 0;
	strcpy(f->path, full);
	if (f->kind == FILE_WRITTEN) {
		const struct rdb_note_opened *note = log_note(replay_record(), RDB_NOTE_OPENED, &len);
		own_opened(f, len >= sizeof(*note) ? note : NULL);
	}
	open_put(ev->result, f, flags & O_CLOEXEC);
}

static void set_flags(struct opened *f, unsigned flags)
{
	f->flags = flags;
	f->set = true;
	if (f->shared && f->made > 0)
		fcntl(f->made, F_SETFL, (int)(f->flags & TREE_MODES));
}

static void controlled(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (!f)
		return;
	switch (A(1)) {
	case F_DUPFD: open_put(ev->result, f, false); break;
	case F_DUPFD_CLOEXEC: open_put(ev->result, f, true); break;
	case F_SETPIPE_SZ:
		for (struct opened *o = open_table.opened; o < open_table.opened + OPENED; o++)
			if (o->kind == PIPE && f->kind == PIPE && o->pipe == f->pipe)
				o->count = (uint64_t)ev->result;
		if (f->kind == PIPE && f->shared)
			pipe_fill(f->made, NULL, 0, f->count);
		break;
	case F_SETFD: open_table.number[A(0)].cloexec = A(2) & FD_CLOEXEC; break;
	case F_SETOWN:
	case F_SETOWN_EX:
	case F_SETSIG: snprintf(f->why, sizeof(f->why), "it sends signals (F_SETOWN)"); break;
	case F_SETLEASE: snprintf(f->why, sizeof(f->why), A(2) == F_UNLCK ? "" : "it has a lease (F_SETLEASE)"); break;
	case F_ADD_SEALS: f->mask |= A(2); break;
	case F_SETFL:
		set_flags(f, (f->flags & (O_ACCMODE | O_TRUNC | O_EXCL)) | ((unsigned)A(2) & ~(unsigned)O_ACCMODE));
		break;
	}
}

static void other(const struct event *ev, int64_t fd, bool cloexec)
{
	struct opened *f = open_make(OTHER, 0);
	f->call = ev->nr;
	open_put(fd, f, cloexec);
}

/* fs/ioctl.c, do_vfs_ioctl: what fcntl(2) does, too */
static void controlled_by_ioctl(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (!f)
		return;
	switch ((unsigned)A(1)) {
	case FICLONE:
	case FICLONERANGE: moves_unknown(ev, f); break;
	case TIOCGPTPEER: other(ev, ev->result, A(2) & O_CLOEXEC); break;
	case FIOCLEX: open_table.number[A(0)].cloexec = true; break;
	case FIONCLEX: open_table.number[A(0)].cloexec = false; break;
	case FIONBIO:
		set_flags(f, *(const int *)A(2) ? f->flags | O_NONBLOCK : f->flags & ~(unsigned)O_NONBLOCK);
		break;
	}
}

/* Number for a new pipe; a pipe without ends makes room. */
static unsigned new_pipe(void)
{
	if (open_table.npipes < OPENED)
		return open_table.npipes++;
	bool has_ends[OPENED] = {false};
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == PIPE)
			has_ends[f->pipe] = true;
	const bool *unused = memchr(has_ends, false, sizeof(has_ends));
	if (!unused)
		live_refuse("it has more than %d pipes", OPENED);
	open_table.pipes[unused - has_ends].len = 0;
	return (unsigned)(unused - has_ends);
}

static void piped(const struct event *ev, unsigned flags)
{
	const int *ends = (const int *)A(0);
	const unsigned number = new_pipe();
	for (int i = 0; i < 2; i++) {
		struct opened *f = open_make(PIPE, flags | (i ? O_WRONLY : O_RDONLY));
		f->read_end = !i;
		f->pipe = number;
		open_put(ends[i], f, flags & O_CLOEXEC);
	}
}

static void watch(const struct event *ev)
{
	struct opened *set = open_at(A(0)), *file = open_at(A(2));
	unsigned i = 0;
	while (i < open_table.nwatched && !(open_table.watched[i].set == set && open_table.watched[i].file == file &&
					    open_table.watched[i].fd == (int)A(2)))
		i++;
	if (A(1) == EPOLL_CTL_DEL) {
		if (i < open_table.nwatched)
			open_table.watched[i] = open_table.watched[--open_table.nwatched];
		return;
	}
	if (i == WATCHED)
		live_refuse("its epolls have more than %d descriptors", WATCHED);
	open_table.watched[i].set = set;
	open_table.watched[i].file = file;
	open_table.watched[i].fd = (int)A(2);
	memcpy(&open_table.watched[i].event, (const void *)A(3), sizeof(struct epoll_event));
	if (i == open_table.nwatched)
		open_table.nwatched++;
}

static void named_anew(int from_dir, uint64_t from, int to_dir, uint64_t to)
{
	char path[4096], now[4096];
	open_whole_path(from_dir, (const char *)from, path, false);
	open_whole_path(to_dir, (const char *)to, now, false);
	own_renamed(path, now);
	mapped_files_unlinked(now);
	mapped_files_renamed(path, now);
}

static void linked(int from_dir, uint64_t from, int to_dir, uint64_t to)
{
	char path[4096], also[4096];
	open_whole_path(from_dir, (const char *)from, path, false);
	open_whole_path(to_dir, (const char *)to, also, false);
	own_linked(path, also);
}

static void deleted(int dir, uint64_t path)
{
	char full[4096];
	open_whole_path(dir, (const char *)path, full, false);
	own_unlinked(full);
	mapped_files_unlinked(full);
}

/* Descriptors made by a call that no table knows (unknown_maps.h). */
static void made_unknown(const struct event *ev)
{
	size_t len = 0;
	const uint32_t *made = log_note(replay_record(), RDB_NOTE_MADE, &len);
	for (size_t i = 0; made && i < len / sizeof(*made); i++)
		other(ev, made[i], false);
}

/* epoll_ctl(2): what has reported an event, and was watched for one alone, is watched for none. */
static void reported(const struct event *ev)
{
	const unsigned kept = EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE; /* EP_PRIVATE_BITS */
	struct opened *set = open_at(A(0));
	for (int64_t i = 0; set && i < ev->result; i++) {
		struct epoll_event came;
		unsigned found = 0, once = 0;
		memcpy(&came, (const char *)A(1) + i * (int64_t)sizeof(came), sizeof(came));
		for (unsigned k = 0; k < open_table.nwatched; k++) {
			struct epoll_event *e = &open_table.watched[k].event;
			if (open_table.watched[k].set != set || e->data.u64 != came.data.u64 || !(e->events & ~kept))
				continue;
			found++;
			once += (e->events & EPOLLONESHOT) != 0;
			e->events &= e->events & EPOLLONESHOT ? kept : ~0u;
		}
		if (once && found > 1)
			snprintf(set->why, sizeof(set->why),
				 "it watches several descriptors with the same data, one of them with EPOLLONESHOT");
	}
}

static void opens(const struct event *ev)
{
	opened(ev, AT_FDCWD, (const char *)A(0), (unsigned)A(1));
}

static void opens_at(const struct event *ev)
{
	opened(ev, (int)A(0), (const char *)A(1), (unsigned)A(2));
}

static void creates(const struct event *ev)
{
	opened(ev, AT_FDCWD, (const char *)A(0), O_WRONLY | O_CREAT | O_TRUNC);
}

static void closes(const struct event *ev)
{
	open_drop(A(0));
}

static void closes_range(const struct event *ev)
{
	for (uint64_t fd = A(0); fd <= A(1) && fd < NUMBERS; fd++)
		if (A(2) & 4 /* CLOSE_RANGE_CLOEXEC */)
			open_table.number[fd].cloexec = true;
		else
			open_drop(fd);
}

static void copies_number(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (f)
		open_put(ev->result, f, false);
}

static void takes_number(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	const bool cloexec = ev->nr == SYS_dup3 && A(2) & O_CLOEXEC;
	if (f && A(0) != A(1))
		open_put(ev->result, f, cloexec);
	else if (A(0) != A(1)) /* one that it has from its launcher */
		other(ev, ev->result, cloexec);
}

static void maps(const struct event *ev)
{
	struct opened *f = !(A(3) & MAP_ANONYMOUS) && A(3) & MAP_SHARED ? open_at(A(4)) : NULL;
	if (!f)
		return;
	f->mapped = true;
	if (f->call == SYS_memfd_create)
		f->kind = OTHER;
	if (f->kind == FILE_WRITTEN)
		mapped_file_made((uint64_t)ev->result, A(1), A(5), f);
}

static void makes_pipe(const struct event *ev)
{
	piped(ev, ev->nr == SYS_pipe2 ? (unsigned)A(1) : 0);
}

static void makes_eventfd(const struct event *ev)
{
	struct opened *f = open_make(EVENT, ev->nr == SYS_eventfd ? 0 : (unsigned)A(1));
	f->count = A(0);
	open_put(ev->result, f, ev->nr == SYS_eventfd2 && A(1) & EFD_CLOEXEC);
}

static void makes_epoll(const struct event *ev)
{
	open_put(ev->result, open_make(EPOLL, 0), ev->nr == SYS_epoll_create1 && A(0) & EPOLL_CLOEXEC);
}

static void makes_timer(const struct event *ev)
{
	struct opened *f = open_make(TIMER, (unsigned)A(1));
	f->clock = (int)A(0);
	open_put(ev->result, f, A(1) & TFD_CLOEXEC);
}

static void sets_timer(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (!f)
		return;
	memcpy(&f->timer, (const void *)A(2), sizeof(f->timer));
	timerfd_flags(f, A(1));
	f->since_ns = replay_now_ns();
	f->count = 0;
	if (f->shared)
		timerfd_told(f);
}

static void makes_signalfd(const struct event *ev)
{
	const bool another_mask = (int)A(0) != -1;
	const unsigned flags = ev->nr == SYS_signalfd4 ? (unsigned)A(3) : 0;
	struct opened *f = another_mask ? open_at((unsigned)A(0)) : open_make(SIGNALS, flags);
	if (f)
		memcpy(&f->mask, (const void *)A(1), sizeof(f->mask));
	if (!another_mask)
		open_put(ev->result, f, flags & SFD_CLOEXEC);
}

static void makes_socket(const struct event *ev)
{
	other(ev, ev->result, A(1) & O_CLOEXEC);
}

static void put_process(int64_t fd, uint64_t id, unsigned flags)
{
	struct opened *f = open_make(PROCESS, flags);
	f->count = id;
	open_put(fd, f, true);
}

static void makes_pidfd(const struct event *ev)
{
	put_process(ev->result, A(0), (unsigned)A(1));
}

static void makes_child(const struct event *ev)
{
	const struct clone_request r = process_clone_request(ev);
	int fd;
	if (ev->result > 0 && r.flags & CLONE_PIDFD && !user_read(&fd, r.pidfd, sizeof(fd)))
		put_process(fd, (uint64_t)ev->result, r.flags & CLONE_THREAD ? O_EXCL /* PIDFD_THREAD */ : 0);
}

static void makes_memory(const struct event *ev)
{
	struct opened *f = put_nameless(ev, O_RDWR, A(1) & MFD_CLOEXEC);
	f->again = A(1) & MFD_NOEXEC_SEAL ? 0666 : 0777; /* its mode */
	f->mask = A(1) & (MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL) ? 0 : F_SEAL_SEAL;
	f->mask |= A(1) & MFD_NOEXEC_SEAL ? F_SEAL_EXEC : 0;
}

static void makes_other(const struct event *ev)
{
	other(ev, ev->result, true);
}

static void renames(const struct event *ev)
{
	named_anew(AT_FDCWD, A(0), AT_FDCWD, A(1));
}

static void renames_at(const struct event *ev)
{
	named_anew((int)A(0), A(1), (int)A(2), A(3));
}

static void links(const struct event *ev)
{
	linked(AT_FDCWD, A(0), AT_FDCWD, A(1));
}

/* linkat(2) may name a file that has no name, by its descriptor. */
static void links_at(const struct event *ev)
{
	const int number = A(4) & AT_EMPTY_PATH ? (int)A(0) : fd_path((const char *)A(1));
	struct opened *f = number < 0 ? NULL : open_at((uint64_t)number);
	if (f && f->kind == FILE_WRITTEN && !*f->path)
		snprintf(f->why, sizeof(f->why), "a file without a name was given one by linkat(2)");
	linked((int)A(0), A(1), (int)A(2), A(3));
}

static void deletes(const struct event *ev)
{
	deleted(AT_FDCWD, A(0));
}

static void deletes_at(const struct event *ev)
{
	deleted((int)A(0), A(1));
}

static void goes_to(const struct event *ev)
{
	if (chdir((const char *)A(0)))
		live_refuse("%s: %s", (const char *)A(0), strerror(errno));
}

static void goes_to_opened(const struct event *ev)
{
	const struct opened *f = open_at(A(0));
	if (!f || chdir(f->path))
		live_refuse("its working directory, set with fchdir(2), cannot be found again");
}

static void sets_umask(const struct event *ev)
{
	umask((mode_t)A(0));
}

static void others(const struct event *ev)
{
	made_unknown(ev);
	own_attributes_syscall(ev);
}

void open_files_syscall(const struct event *ev)
{
	static void (*const calls[])(const struct event *ev) = {
		[SYS_open] = opens,
		[SYS_openat] = opens_at,
		[SYS_creat] = creates,
		[SYS_close] = closes,
		[SYS_close_range] = closes_range,
		[SYS_dup] = copies_number,
		[SYS_dup2] = takes_number,
		[SYS_dup3] = takes_number,
		[SYS_fcntl] = controlled,
		[SYS_ioctl] = controlled_by_ioctl,
		[SYS_read] = moves_read,
		[SYS_write] = moves_write,
		[SYS_pwrite64] = moves_write_at,
		[SYS_readv] = moves_read_parts,
		[SYS_preadv2] = moves_read_parts,
		[SYS_writev] = moves_write_parts,
		[SYS_pwritev] = moves_write_parts,
		[SYS_pwritev2] = moves_write_parts,
		[SYS_vmsplice] = moves_memory,
		[SYS_sendfile] = moves_between,
		[SYS_splice] = moves_between,
		[SYS_copy_file_range] = moves_between,
		[SYS_tee] = moves_copied,
		[SYS_lseek] = moves_sought,
		[SYS_getdents] = moves_listed, /* d_off and d_reclen are at the same places */
		[SYS_getdents64] = moves_listed,
		[SYS_ftruncate] = moves_truncated,
		[SYS_truncate] = moves_truncated_path,
		[SYS_fallocate] = moves_allocated,
		[SYS_mmap] = maps,
		[SYS_pipe] = makes_pipe,
		[SYS_pipe2] = makes_pipe,
		[SYS_eventfd] = makes_eventfd,
		[SYS_eventfd2] = makes_eventfd,
		[SYS_epoll_create] = makes_epoll,
		[SYS_epoll_create1] = makes_epoll,
		[SYS_epoll_ctl] = watch,
		[SYS_epoll_wait] = reported,
		[SYS_epoll_pwait] = reported,
		[SYS_epoll_pwait2] = reported,
		[SYS_timerfd_create] = makes_timer,
		[SYS_timerfd_settime] = sets_timer,
		[SYS_signalfd] = makes_signalfd,
		[SYS_signalfd4] = makes_signalfd,
		[SYS_socket] = makes_socket,
		[SYS_accept] = makes_other,
		[SYS_accept4] = makes_other,
		[SYS_inotify_init] = makes_other,
		[SYS_inotify_init1] = makes_other,
		[SYS_memfd_create] = makes_memory,
		[SYS_mq_open] = makes_other,
		[SYS_pidfd_open] = makes_pidfd,
		[SYS_clone] = makes_child,
		[SYS_clone3] = makes_child,
		[SYS_pidfd_getfd] = makes_other,
		[SYS_fanotify_init] = makes_other,
		[SYS_open_by_handle_at] = makes_other,
		[SYS_memfd_secret] = makes_other,
		[SYS_open_tree] = makes_other,
		[SYS_fsopen] = makes_other,
		[SYS_fspick] = makes_other,
		[SYS_fsmount] = makes_other,
		[SYS_perf_event_open] = makes_other,
		[SYS_openat2] = makes_other,
		[SYS_rename] = renames,
		[SYS_renameat] = renames_at,
		[SYS_renameat2] = renames_at,
		[SYS_link] = links,
		[SYS_linkat] = links_at,
		[SYS_unlink] = deletes,
		[SYS_unlinkat] = deletes_at,
		[SYS_chdir] = goes_to,
		[SYS_fchdir] = goes_to_opened,
		[SYS_umask] = sets_umask,
	};
	open_table_begin();
	if (sockets_syscall(ev))
		return;
	const bool known = ev->nr < sizeof(calls) / sizeof(*calls) && calls[ev->nr];
	(known ? calls[ev->nr] : others)(ev);
}
