#include "restart/files/moves.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/base/open_table.h"
#include "restart/base/streams.h"
#include "restart/copies/own_attributes.h"
#include "restart/copies/own_files.h"
#include "restart/copies/written_copies.h"
#include "restart/sockets/sockets.h"

enum { NOAPPEND = 0x20 /* RWF_NOAPPEND, Linux 6.9 */ };

#define A(i) (ev->args[i])

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

/* The descriptor is read or written in a way that is not followed: it cannot be made again, if it is open at the cut. */
void moves_unknown(const struct event *ev, struct opened *f)
{
	if (!f || !(is_file(f) || f->kind == PIPE || f->kind == SOCKET))
		return;
	f->call = ev->nr;
	if (f->kind == FILE_WRITTEN)
		snprintf(f->why, sizeof(f->why), "it was written by a system call that a restart cannot repeat");
	else
		f->kind = OTHER;
}

/* ---- reads and writes ---- */

void moves_read(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (f)
		moved(ev, f, (const void *)A(1), (uint64_t)ev->result, false, NULL);
}

void moves_write(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (f)
		moved(ev, f, (const void *)A(1), (uint64_t)ev->result, true, NULL);
}

void moves_write_at(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (f)
		moved(ev, f, (const void *)A(1), (uint64_t)ev->result, true, &A(3));
}

static void parts(const struct event *ev, struct opened *f, bool writing, const uint64_t *where)
{
	const struct iovec *iov = (const void *)A(1);
	uint64_t left = (uint64_t)ev->result, offset = where ? *where : 0;
	for (uint64_t i = 0; i < A(2) && left; i++) {
		uint64_t n = iov[i].iov_len < left ? iov[i].iov_len : left;
		moved(ev, f, iov[i].iov_base, n, writing, where ? &offset : NULL);
		offset += n;
		left -= n;
	}
}

/* preadv2(2): the place -1 is the file's offset */
void moves_read_parts(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (f && (ev->nr == SYS_readv || A(3) == UINT64_MAX))
		parts(ev, f, false, NULL);
}

void moves_write_parts(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	const bool here = ev->nr == SYS_writev || (ev->nr == SYS_pwritev2 && A(3) == UINT64_MAX);
	const uint64_t how = ev->nr == SYS_pwritev2 ? A(5) : 0;
	if (!f)
		return;
	const unsigned flags = f->flags;
	f->flags |= how & RWF_APPEND ? O_APPEND : 0;
	f->flags &= ~(how & NOAPPEND ? (unsigned)O_APPEND : 0);
	parts(ev, f, true, here ? NULL : &A(3));
	f->flags = flags;
}

/* vmsplice(2): reads from a pipe by one end, writes to it by the other */
void moves_memory(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (f)
		parts(ev, f, !f->read_end, NULL);
}

void moves_sought(const struct event *ev)
{
	sought(open_at(A(0)), (uint64_t)ev->result);
}

void moves_listed(const struct event *ev)
{
	const char *entries = (const char *)A(1);
	uint64_t offset = 0;
	uint16_t size;
	for (int64_t i = 0; i < ev->result; i += size) { /* getdents(2): d_off is the offset of the next entry */
		memcpy(&size, entries + i + 16, sizeof(size));
		memcpy(&offset, entries + i + 8, sizeof(offset));
	}
	if (ev->result > 0)
		sought(open_at(A(0)), offset);
}

/* ---- from one descriptor to another ---- */

/* What a call takes from f, where this process alone has written it, so that it is known.  NULL: it is not. */
static uint8_t *taken(const struct opened *f, uint64_t from, uint64_t n)
{
	const bool pipe = f && f->kind == PIPE && !f->shared && n <= open_table.pipes[f->pipe].len;
	const bool file = f && f->kind == FILE_WRITTEN && !f->shared && !*f->why;
	uint8_t *bytes = pipe || file ? malloc(n ? n : 1) : NULL;
	if (bytes && pipe)
		memcpy(bytes, open_table.pipes[f->pipe].bytes, n);
	if (bytes && file && pread(f->copy, bytes, n, (off_t)from) != (ssize_t)n)
		live_refuse("%s: its copy cannot be read", f->path);
	return bytes;
}

/* Where a call began that has moved the offset in memory on; NULL: at the file's own. */
static const uint64_t *began(uint64_t offset, uint64_t n, uint64_t *at)
{
	if (!offset)
		return NULL;
	*at = *(const uint64_t *)offset - n;
	return at;
}

static void gives(const struct event *ev, struct opened *f, const uint8_t *bytes, const uint64_t *where)
{
	if (f && bytes)
		moved(ev, f, bytes, (uint64_t)ev->result, true, where);
	else
		moves_unknown(ev, f);
}

void moves_between(const struct event *ev)
{
	const bool sends = ev->nr == SYS_sendfile;
	const uint64_t n = (uint64_t)ev->result;
	struct opened *in = open_at(A(sends ? 1 : 0)), *out = open_at(A(sends ? 0 : 2));
	uint64_t in_at, out_at;
	const uint64_t *from = began(sends ? A(2) : A(1), n, &in_at), *to = began(sends ? 0 : A(3), n, &out_at);
	uint8_t *bytes = taken(in, from ? *from : in ? in->offset : 0, n);
	if (in && (bytes || is_file(in)))
		moved(ev, in, bytes, n, false, from);
	else
		moves_unknown(ev, in);
	gives(ev, out, bytes, to);
	free(bytes);
}

void moves_copied(const struct event *ev)
{
	uint8_t *bytes = taken(open_at(A(0)), 0, (uint64_t)ev->result);
	gives(ev, open_at(A(1)), bytes, NULL);
	free(bytes);
}

/* ---- sizes ---- */

static void cut(struct opened *f, uint64_t len)
{
	if (f->shared)
		stream_add(f->shared, OP_CUT, &len, sizeof(len));
	else if (ftruncate(f->copy, (off_t)len))
		live_refuse("%s: its copy cannot be truncated: %s", f->path, strerror(errno));
	else
		own_attributes_written(f->copy);
}

void moves_truncated(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (f && f->kind == FILE_WRITTEN)
		cut(f, A(1));
}

void moves_truncated_path(const struct event *ev)
{
	char full[4096];
	open_whole_path(AT_FDCWD, (const char *)A(0), full, true);
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, full)) {
			cut(f, A(1));
			return;
		}
	struct opened closed = {.copy = own_copy_named(AT_FDCWD, full, false)};
	if (closed.copy < 0)
		return;
	strcpy(closed.path, full);
	cut(&closed, A(1));
	close(closed.copy);
}

void moves_allocated(const struct event *ev)
{
	struct opened *f = open_at(A(0));
	if (!f || f->kind != FILE_WRITTEN || f->shared)
		moves_unknown(ev, f);
	else if (fallocate(f->copy, (int)A(1), (off_t)A(2), (off_t)A(3)))
		live_refuse("%s: fallocate(2) of its copy: %s", f->path, strerror(errno));
	else
		own_attributes_written(f->copy);
}
