#include "restart/files/open_files.h"
#include <errno.h>
#include <fcntl.h>
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
#include "restart/base/cut.h"
#include "restart/files/fd_paths.h"
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

#define A(i) (ev->args[i])

static void opened(const struct event *ev, int dirfd, const char *path, unsigned flags)
{
	char full[4096];
	struct stat st;
	size_t len = 0;
	if (fd_path_opened(ev, fd_path(path), flags, &path))
		return;
	open_whole_path(dirfd, path, full, true); /* a missing directory counts only if the file is open at the cut */
	bool there = stat(full, &st) == 0, written = (flags & O_ACCMODE) != O_RDONLY;
	written &= strncmp(full, WINDOW_FILES, strlen(WINDOW_FILES)) != 0; /* shared memory is handled elsewhere */
	struct opened *f = open_make(written && !(there && !S_ISREG(st.st_mode)) ? FILE_WRITTEN : FILE_READ, flags);
	if ((flags & O_TMPFILE) == O_TMPFILE || !strncmp(full, "/proc/", 6) || !strncmp(full, "/dev/pts/", 9)) {
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

/* Adds an operation on a description that several processes have to its stream. */
static void told(const struct opened *f, const void *bytes, uint64_t done, bool writing, const uint64_t *where)
{
	if (f->kind == PIPE || f->kind == EVENT)
		stream_moved(f->shared, bytes, done, writing);
	else if (!writing && !where)
		stream_add(f->shared, OP_READ, &done, sizeof(done));
	else if (writing && where)
		stream_add_at(f->shared, *where, bytes, done);
	else if (writing)
		stream_add(f->shared, f->flags & O_APPEND ? OP_APPEND : OP_WRITE, bytes, done);
}

static bool is_file(const struct opened *f)
{
	return f->kind == FILE_READ || f->kind == FILE_WRITTEN;
}

static void moved(const struct event *ev, struct opened *f, const void *bytes, uint64_t done, bool writing,
		  const uint64_t *where)
{
	uint64_t offset = where ? *where : f->offset;
	if (f->shared && (is_file(f) || f->kind == PIPE || f->kind == EVENT)) {
		told(f, bytes, done, writing, where);
		return;
	}
	switch (f->kind) {
	case FILE_WRITTEN:
		if (writing) {
			if (f->flags & O_APPEND)
				offset = copy_end(f);
			copy_write(f, offset, bytes, done);
		}
		/* fallthrough */
	case FILE_READ:
		if (!where)
			f->offset = offset + done;
		break;
	case PIPE: {
		uint8_t **have = &open_table.pipes[f->pipe].bytes;
		size_t *len = &open_table.pipes[f->pipe].len;
		if (writing) {
			uint8_t *more = realloc(*have, *len + done);
			if (!more || *len + done > PIPE_ROOM)
				live_refuse("more than %d bytes are in one of its pipes", PIPE_ROOM);
			memcpy(more + *len, bytes, done);
			*have = more;
			*len += done;
		} else {
			done = done < *len ? done : *len;
			*len -= done;
			memmove(*have, *have + done, *len);
		}
		break;
	}
	case EVENT: {
		uint64_t value;
		memcpy(&value, bytes, sizeof(value));
		f->count += writing ? value : -value;
		break;
	}
	case TIMER: {
		uint64_t expired;
		memcpy(&expired, bytes, sizeof(expired));
		f->count += expired;
		if (f->shared)
			stream_add(f->shared, OP_READ, &expired, sizeof(expired));
		break;
	}
	case SOCKET: socket_moved(socket_of(f), bytes, done, writing); break;
	default: break;
	}
}

static void sought(struct opened *f, uint64_t offset)
{
	if (f && f->shared && is_file(f))
		stream_add(f->shared, OP_SEEK, &offset, sizeof(offset));
	else if (f)
		f->offset = offset;
}

static void moved_parts(const struct event *ev, bool writing, const uint64_t *where)
{
	const struct iovec *iov = (const void *)A(1);
	struct opened *f = open_at(A(0));
	uint64_t left = (uint64_t)ev->result, offset = where ? *where : 0;
	for (uint64_t i = 0; f && i < A(2) && left; i++) {
		uint64_t n = iov[i].iov_len < left ? iov[i].iov_len : left;
		moved(ev, f, iov[i].iov_base, n, writing, where ? &offset : NULL);
		offset += n;
		left -= n;
	}
}

static void listed(const struct event *ev, struct opened *f)
{
	const char *entries = (const char *)A(1);
	uint64_t offset = 0;
	uint16_t size;
	for (int64_t i = 0; f && i < ev->result; i += size) { /* getdents(2): d_off is the offset of the next entry */
		memcpy(&size, entries + i + 16, sizeof(size));
		memcpy(&offset, entries + i + 8, sizeof(offset));
	}
	if (ev->result > 0)
		sought(f, offset);
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
	case F_SETFL:
		set_flags(f, (f->flags & (O_ACCMODE | O_TRUNC | O_EXCL)) | ((unsigned)A(2) & ~(unsigned)O_ACCMODE));
		break;
	}
}

/* The descriptor is read or written in a way that is not followed: it cannot be made again, if it is open at the cut. */
static void not_followed(const struct event *ev, uint64_t fd)
{
	struct opened *f = open_at(fd);
	if (!f || !(is_file(f) || f->kind == PIPE || f->kind == SOCKET))
		return;
	f->call = ev->nr;
	if (f->kind == FILE_WRITTEN)
		snprintf(f->why, sizeof(f->why), "it was written by a system call that a restart cannot repeat");
	else
		f->kind = OTHER;
}

/* fs/ioctl.c, do_vfs_ioctl: what fcntl(2) does, too */
static void controlled_by_ioctl(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (!f)
		return;
	switch ((unsigned)A(1)) {
	case FICLONE:
	case FICLONERANGE: not_followed(ev, A(0)); break;
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
	struct opened *set = open_at(A(0));
	unsigned i = 0;
	while (i < open_table.nwatched && !(open_table.watched[i].set == set && open_table.watched[i].fd == (int)A(2)))
		i++;
	if (A(1) == EPOLL_CTL_DEL) {
		if (i < open_table.nwatched)
			open_table.watched[i] = open_table.watched[--open_table.nwatched];
		return;
	}
	if (i == WATCHED)
		live_refuse("its epolls have more than %d descriptors", WATCHED);
	open_table.watched[i].set = set;
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

static void other(const struct event *ev, int64_t fd, bool cloexec)
{
	struct opened *f = open_make(OTHER, 0);
	f->call = ev->nr;
	open_put(fd, f, cloexec);
}

/* Descriptors made by a call that no table knows (unknown_maps.h). */
static void made_unknown(const struct event *ev)
{
	size_t len = 0;
	const uint32_t *made = log_note(replay_record(), RDB_NOTE_MADE, &len);
	for (size_t i = 0; made && i < len / sizeof(*made); i++)
		other(ev, made[i], false);
}

static void cut(struct opened *f, uint64_t len)
{
	if (f->shared)
		stream_add(f->shared, OP_CUT, &len, sizeof(len));
	else if (ftruncate(f->copy, (off_t)len))
		live_refuse("%s: its copy cannot be truncated: %s", f->path, strerror(errno));
	else
		own_attributes_written(f->copy);
}

static void cut_by_path(const char *path, uint64_t len)
{
	char full[4096];
	open_whole_path(AT_FDCWD, path, full, true);
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, full)) {
			cut(f, len);
			return;
		}
	struct opened closed = {.copy = own_copy_named(AT_FDCWD, full, false)};
	if (closed.copy < 0)
		return;
	strcpy(closed.path, full);
	cut(&closed, len);
	close(closed.copy);
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

void open_files_syscall(const struct event *ev)
{
	struct opened *f;
	open_table_begin();
	if (sockets_syscall(ev))
		return;
	switch (ev->nr) {
	case SYS_open: opened(ev, AT_FDCWD, (const char *)A(0), (unsigned)A(1)); break;
	case SYS_openat: opened(ev, (int)A(0), (const char *)A(1), (unsigned)A(2)); break;
	case SYS_creat: opened(ev, AT_FDCWD, (const char *)A(0), O_WRONLY | O_CREAT | O_TRUNC); break;
	case SYS_close: open_drop(A(0)); break;
	case SYS_close_range:
		for (uint64_t fd = A(0); fd <= A(1) && fd < NUMBERS; fd++)
			if (A(2) & 4 /* CLOSE_RANGE_CLOEXEC */)
				open_table.number[fd].cloexec = true;
			else
				open_drop(fd);
		break;
	case SYS_dup:
		if ((f = open_at(A(0))))
			open_put(ev->result, f, false);
		break;
	case SYS_dup2:
	case SYS_dup3:
		if ((f = open_at(A(0))) && A(0) != A(1))
			open_put(ev->result, f, ev->nr == SYS_dup3 && A(2) & O_CLOEXEC);
		else if (A(0) != A(1)) /* one that it has from its launcher */
			other(ev, ev->result, ev->nr == SYS_dup3 && A(2) & O_CLOEXEC);
		break;
	case SYS_fcntl: controlled(ev); break;
	case SYS_ioctl: controlled_by_ioctl(ev); break;
	case SYS_read:
		if ((f = open_at(A(0))))
			moved(ev, f, (const void *)A(1), (uint64_t)ev->result, false, NULL);
		break;
	case SYS_write:
		if ((f = open_at(A(0))))
			moved(ev, f, (const void *)A(1), (uint64_t)ev->result, true, NULL);
		break;
	case SYS_pwrite64:
		if ((f = open_at(A(0))))
			moved(ev, f, (const void *)A(1), (uint64_t)ev->result, true, &A(3));
		break;
	case SYS_readv: moved_parts(ev, false, NULL); break;
	case SYS_writev: moved_parts(ev, true, NULL); break;
	case SYS_pwritev: moved_parts(ev, true, &A(3)); break;
	case SYS_mmap:
		f = NULL;
		if (!(A(3) & MAP_ANONYMOUS) && A(3) & MAP_SHARED && (f = open_at(A(4))))
			f->mapped = true;
		if (f && f->mapped && f->kind == FILE_WRITTEN)
			mapped_file_made((uint64_t)ev->result, A(1), A(5), f);
		break;
	case SYS_lseek: sought(open_at(A(0)), (uint64_t)ev->result); break;
	case SYS_getdents: /* d_off and d_reclen are at the same places */
	case SYS_getdents64: listed(ev, open_at(A(0))); break;
	case SYS_ftruncate:
		if ((f = open_at(A(0))) && f->kind == FILE_WRITTEN)
			cut(f, A(1));
		break;
	case SYS_truncate: cut_by_path((const char *)A(0), A(1)); break;
	case SYS_sendfile:
		not_followed(ev, A(0));
		f = open_at(A(1));
		if (f && is_file(f) && !A(2))
			moved(ev, f, NULL, (uint64_t)ev->result, false, NULL);
		else if (f && !is_file(f))
			not_followed(ev, A(1));
		break;
	case SYS_splice:
	case SYS_copy_file_range:
		not_followed(ev, A(0));
		not_followed(ev, A(2));
		break;
	case SYS_tee: not_followed(ev, A(1)); break;
	case SYS_vmsplice:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_fallocate: not_followed(ev, A(0)); break;
	case SYS_pipe: piped(ev, 0); break;
	case SYS_pipe2: piped(ev, (unsigned)A(1)); break;
	case SYS_eventfd:
	case SYS_eventfd2:
		f = open_make(EVENT, ev->nr == SYS_eventfd ? 0 : (unsigned)A(1));
		f->count = A(0);
		open_put(ev->result, f, ev->nr == SYS_eventfd2 && A(1) & EFD_CLOEXEC);
		break;
	case SYS_epoll_create:
	case SYS_epoll_create1:
		open_put(ev->result, open_make(EPOLL, 0), ev->nr == SYS_epoll_create1 && A(0) & EPOLL_CLOEXEC);
		break;
	case SYS_epoll_ctl: watch(ev); break;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2: reported(ev); break;
	case SYS_timerfd_create:
		f = open_make(TIMER, (unsigned)A(1));
		f->clock = (int)A(0);
		open_put(ev->result, f, A(1) & TFD_CLOEXEC);
		break;
	case SYS_timerfd_settime:
		if ((f = open_at(A(0)))) {
			memcpy(&f->timer, (const void *)A(2), sizeof(f->timer));
			timerfd_flags(f, A(1));
			f->since_ns = replay_now_ns();
			f->count = 0;
			if (f->shared)
				timerfd_told(f);
		}
		break;
	case SYS_signalfd:
	case SYS_signalfd4:
		if ((int)A(0) != -1) { /* another mask for that one */
			if ((f = open_at((unsigned)A(0))))
				memcpy(&f->mask, (const void *)A(1), sizeof(f->mask));
			break;
		}
		f = open_make(SIGNALS, ev->nr == SYS_signalfd4 ? (unsigned)A(3) : 0);
		memcpy(&f->mask, (const void *)A(1), sizeof(f->mask));
		open_put(ev->result, f, ev->nr == SYS_signalfd4 && A(3) & SFD_CLOEXEC);
		break;
	case SYS_socket: other(ev, ev->result, A(1) & O_CLOEXEC); break;
	case SYS_accept:
	case SYS_accept4:
	case SYS_inotify_init:
	case SYS_inotify_init1:
	case SYS_memfd_create:
	case SYS_mq_open:
	case SYS_pidfd_open:
	case SYS_perf_event_open:
	case SYS_openat2: other(ev, ev->result, true); break;
	case SYS_rename: named_anew(AT_FDCWD, A(0), AT_FDCWD, A(1)); break;
	case SYS_renameat2:
	case SYS_renameat: named_anew((int)A(0), A(1), (int)A(2), A(3)); break;
	case SYS_link: linked(AT_FDCWD, A(0), AT_FDCWD, A(1)); break;
	case SYS_linkat: linked((int)A(0), A(1), (int)A(2), A(3)); break;
	case SYS_unlink: deleted(AT_FDCWD, A(0)); break;
	case SYS_unlinkat: deleted((int)A(0), A(1)); break;
	case SYS_chdir:
		if (chdir((const char *)A(0)))
			live_refuse("%s: %s", (const char *)A(0), strerror(errno));
		break;
	case SYS_fchdir:
		if (!(f = open_at(A(0))) || chdir(f->path))
			live_refuse("its working directory, set with fchdir(2), cannot be found again");
		break;
	case SYS_umask: umask((mode_t)A(0)); break;
	default:
		made_unknown(ev);
		own_attributes_syscall(ev);
		break;
	}
}
